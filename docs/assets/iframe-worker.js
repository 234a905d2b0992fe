// Lets the site's search run where the site is opened as files: browsers start no worker from a file, so a hidden frame
// runs the worker's script. Elsewhere the browser's own workers are used. The name is the one the theme looks for.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.scope = frame.contentWindow
      const load = source =>
        new Promise((done, failed) => {
          const script = this.scope.document.createElement("script")
          script.src = new URL(source, document.baseURI)
          script.onload = done
          script.onerror = failed
          this.scope.document.head.append(script)
        })
      this.scope.importScripts = (...sources) => sources.reduce((last, source) => last.then(() => load(source)), Promise.resolve())
      this.scope.postMessage = data => this.tell("message", new MessageEvent("message", { data }))
      load(url).then(
        () => {
          this.ready = true
          this.waiting.splice(0).forEach(data => this.postMessage(data))
        },
        () => this.tell("error", new ErrorEvent("error", { message: `${url} was not loaded` })),
      )
    }
    postMessage(data) {
      if (!this.ready) this.waiting.push(data)
      else this.scope.dispatchEvent(new this.scope.MessageEvent("message", { data }))
    }
    tell(kind, event) {
      this.dispatchEvent(event)
      this[`on${kind}`]?.(event)
    }
    terminate() {
      this.scope.frameElement.remove()
    }
  }
}
