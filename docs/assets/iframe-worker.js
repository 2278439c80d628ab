// The search runs in a worker, which browsers refuse to pages opened from a folder: there it runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (message) => this.dispatchEvent(new MessageEvent("message", { data: message }));
      const script = this.inside.document.createElement("script");
      script.src = address;
      this.ready = new Promise((done) => script.addEventListener("load", done));
      this.inside.document.body.append(script);
    }

    postMessage(message) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data: message })));
    }
  };
}
