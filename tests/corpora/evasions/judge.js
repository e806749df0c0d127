// Reads lines of {kind, body (base64)} and prints what qs (forms) and busboy (multipart), which Express uses, make of each.
const qs = require("qs"), busboy = require("busboy"), lines = require("readline");
const versions = { node: process.versions.node, qs: require("qs/package.json").version, busboy: require("busboy/package.json").version };
async function parse({ kind, body }) {
  const data = Buffer.from(body, "base64");
  if (!/^multipart/i.test(kind)) return qs.parse(data.toString("utf8"), { depth: 32, parameterLimit: 1000, allowPrototypes: true });
  const found = [];
  await new Promise((done) => {
    try {
      const parser = busboy({ headers: { "content-type": kind } });
      parser.on("field", (name, value) => found.push([name, value])).on("file", (name, file) => file.resume());
      parser.on("error", done).on("close", done).end(data);
    } catch (error) { done(); }
  });
  return found;
}
(async () => {
  for await (const line of lines.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify({ seen: await parse(JSON.parse(line)), versions }));
  }
})();
