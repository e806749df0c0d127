// Reads lines of {site, kind, coding, body (base64)} and prints what Express' parsers make of each: qs (forms) and
// busboy (multipart), or its middleware body-parser, which unpacks and decodes as well.
const qs = require("qs"), busboy = require("busboy"), lines = require("readline"), parsers = require("body-parser");
const versions = { node: process.versions.node };
for (const name of ["qs", "busboy", "body-parser"]) versions[name] = require(name + "/package.json").version;
const { Readable } = require("stream");
const steps = [parsers.json({ limit: "1mb", type: ["json", "+json", "text/json"] }), parsers.urlencoded({ limit: "1mb", extended: true })];
function middleware({ kind, coding, body }) {
  const data = Buffer.from(body, "base64"), request = Readable.from([data]);
  request.headers = { "content-length": String(data.length), ...(kind && { "content-type": kind }), ...(coding && { "content-encoding": coding }) };
  return new Promise((done) => {
    const [first, second] = steps;
    first(request, {}, (error) => error ? done(null) : second(request, {}, (other) => done(other ? null : request.body)));
  });
}
async function parse(each) {
  if (each.site === "body-parser") return middleware(each);
  const { kind } = each, data = Buffer.from(each.body, "base64");
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
