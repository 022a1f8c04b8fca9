// Local times, countdowns and charts. Without this script every page says the same in UTC and in tables.
(function () {
  "use strict";

  function times(root) {
    root.querySelectorAll("time[datetime]").forEach(function (time) {
      var at = new Date(time.getAttribute("datetime"));
      if (isNaN(at)) return;
      time.title = time.getAttribute("datetime");
      time.textContent = at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
    });
  }

  function left(seconds) {
    if (seconds <= 0) return "expired";
    if (seconds < 90) return "in " + seconds + " s";
    if (seconds < 5400) return "in " + Math.floor(seconds / 60) + " min " + (seconds % 60) + " s";
    return "in " + Math.floor(seconds / 3600) + " h";
  }

  function countdowns() {
    var now = Math.floor(Date.now() / 1000);
    document.querySelectorAll("[data-until]").forEach(function (one) {
      one.textContent = left(Number(one.dataset.until) - now);
    });
  }

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function chart(holder) {
    var table = document.getElementById(holder.dataset.chart);
    if (!table || !window.uPlot) return;
    var names = Array.from(table.tHead.rows[0].cells, function (cell) { return cell.textContent; });
    var columns = names.map(function () { return []; });
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      Array.from(row.cells).forEach(function (cell, at) {
        columns[at].push(Number(at ? cell.textContent : cell.dataset.seconds));
      });
    });
    var axis = { stroke: color("--fore"), grid: { stroke: color("--soft") } };
    var series = names.map(function (name, at) {
      return at ? { label: name, stroke: color("--s" + (1 + (at - 1) % 6)), width: 2, dash: at > 6 ? [6, 4] : [] } : {};
    });
    holder.replaceChildren();
    var plot = new window.uPlot({ width: Math.max(280, holder.clientWidth), height: 220, series: series, axes: [axis, axis] }, columns, holder);
    new ResizeObserver(function () {
      plot.setSize({ width: Math.max(280, holder.clientWidth), height: 220 });
    }).observe(holder);
  }

  function dress(root) {
    times(root);
    root.querySelectorAll("[data-chart]").forEach(chart);
    countdowns();
  }

  document.addEventListener("DOMContentLoaded", function () { dress(document); });
  document.addEventListener("htmx:afterSettle", function (event) { dress(event.target.parentElement || document); });
  document.addEventListener("semgate:added", function (event) { dress(event.target); });
  // a refresh must not take away what a person is using
  document.addEventListener("htmx:beforeRequest", function (event) {
    var target = event.detail.target;
    if (document.hidden || target.contains(document.activeElement) || target.querySelector("details[open]")) event.preventDefault();
  });
  setInterval(countdowns, 1000);
})();
