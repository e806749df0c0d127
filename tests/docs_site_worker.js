// The search looks for every word that begins like a word of the query, so "why did I get a 403" finds all words with an "a".
const LEFT_OUT = new Set(
  ("a an and are as at be been but by can could did do does for from get got had has have how i if in is it its me my no not of " +
    "on or our should so that the their them there they this to want was we were what when where which who why will with would " +
    "you your").split(" "),
)
const QUERY = 2 // the kind of message of the theme that has a query

function withoutLittleWords(message) {
  if (message?.type !== QUERY || typeof message.data !== "string" || message.data.includes('"')) return message
  const words = message.data.replace(/(\w)-(?=\w)/g, "$1 ").replace(/[?!.,]+(?=\s|$)/g, "").split(/\s+/)
  const kept = words.filter((word) => !LEFT_OUT.has(word.toLowerCase()))
  return { ...message, data: (kept.length ? kept : words).join(" ") }
}

const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...others) {
  return post.call(this, withoutLittleWords(message), ...others)
}

// The theme searches in a worker. A page that is opened as a file may not start one: run its script in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      this.inner = frame.contentWindow
      this.ready = new Promise((resolve) => {
        this.inner.begun = resolve
      })
      window.addEventListener("message", (event) => {
        if (event.source !== this.inner) return
        const message = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(message)
        if (this.onmessage) this.onmessage(message)
      })
      const address = new URL(url, document.baseURI).href.replace(/[&"<>]/g, encodeURIComponent)
      this.inner.document.write(
        '<script>postMessage = (data) => parent.postMessage(data, "*")</' + "script>" +
        `<script src="${address}"></` + "script><script>begun()</" + "script>",
      )
      this.inner.document.close()
    }

    postMessage(data) {
      const message = new MessageEvent("message", { data: withoutLittleWords(data) })
      this.ready.then(() => this.inner.dispatchEvent(message))
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
