// Puts new verdicts on top of the table. Without this script the page reloads itself.
(function () {
  "use strict";

  var ROWS = 200;
  var source, table, state, pause, after, skipped = 0;

  function say(text) {
    if (state.textContent !== text) state.textContent = text;
  }

  function live() {
    say(skipped ? "Live. " + skipped + " verdicts came too fast to be shown." : "Live.");
  }

  function rows(event) {
    var added = document.createElement("template");
    added.innerHTML = event.data;
    table.prepend(added.content);
    while (table.rows.length > ROWS) table.lastElementChild.remove();
    var none = document.getElementById("none");
    if (none) none.remove();
    after = event.lastEventId;
    table.dispatchEvent(new CustomEvent("semgate:added", { bubbles: true }));
    live();
  }

  function open() {
    var url = new URL(table.dataset.stream, location.href);
    url.searchParams.set("after", after);
    source = new EventSource(url);
    source.onopen = live;
    source.onerror = function () {
      var closed = source.readyState === EventSource.CLOSED;
      say(closed ? "The live view has ended. Reload the page, or log in again." : "The connection is lost; trying again.");
      if (closed) pause.hidden = true;
    };
    source.addEventListener("rows", rows);
    source.addEventListener("gap", function (event) { skipped += Number(event.data); });
    source.addEventListener("end", function () {
      source.close();
      pause.hidden = true;
      say("Your session has ended. Log in again.");
    });
  }

  document.addEventListener("DOMContentLoaded", function () {
    table = document.getElementById("verdicts");
    state = document.getElementById("live-state");
    pause = document.getElementById("pause");
    if (!table || !window.EventSource) return;
    after = table.dataset.after;
    pause.hidden = false;
    pause.addEventListener("click", function () {
      var running = pause.textContent === "Pause";
      pause.textContent = running ? "Go on" : "Pause";
      if (!running) return open();
      source.close();
      say("Paused.");
    });
    open();
  });
})();
