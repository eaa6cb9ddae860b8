// What the live components share: scripts that are loaded beside this file when a reader starts one
// of them, and a worker that computes for it. Each page names this file before the component's own.
(() => {
  "use strict";
  const live = (window.mathlmLive ??= {});
  if (live.load) return; // a page with two components names this file twice

  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const loaded = {};
  live.load = (name) => (loaded[name] ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = here + name;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${name} could not be loaded`));
    document.head.append(script);
  }));

  // A worker from text, because a page that was opened from a file may load none; where there are
  // no workers at all, the same in the page itself: inPage(post) returns what takes a message.
  live.makeWorker = (text, inPage, take) => {
    try {
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.onmessage = (event) => take(event.data);
      return (message) => worker.postMessage(message);
    } catch {
      const server = inPage((message) => setTimeout(() => take(message)));
      return (message) => setTimeout(() => server(message));
    }
  };
  // Tasks of their own for pieces of work, each after the next picture of the page: none is long, and
  // a letter that is typed comes in between. New work takes the place of what is left of the old.
  live.inPieces = () => {
    let left = [], waiting = false;
    const go = () => {
      if (waiting || !left.length) return;
      waiting = true;
      requestAnimationFrame(() => setTimeout(() => {
        waiting = false;
        left.shift()?.();
        go();
      }));
    };
    return (pieces) => {
      left = pieces;
      go();
    };
  };
})();
