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
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.inner.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
