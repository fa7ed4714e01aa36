"use strict";
// Puts long texts and figures where they belong when something is opened. Texts are only ever
// text, never HTML; figures are images, in which nothing runs.
(async () => {
  const note = document.getElementById("no-texts");
  try {
    const packed = atob(document.getElementById("texts").textContent.trim());
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const { lines, texts } = JSON.parse(await new Response(stream).text());
    const text = (ranges) => {
      const parts = [];
      for (let at = 0; at < ranges.length; at += 2) {
        parts.push(lines.slice(ranges[at], ranges[at] + ranges[at + 1]).join("\n"));
      }
      return parts.join("\n");
    };
    const fill = (place) => {
      for (const block of place.querySelectorAll("[data-text]")) {
        const content = text(texts[Number(block.dataset.text)]);
        if (block.tagName !== "IMG") block.textContent = content;
        else if (content.startsWith("data:image/png;base64,")) block.src = content;
        else block.src = `data:image/svg+xml,${encodeURIComponent(content)}`;
        delete block.dataset.text;
      }
    };
    document.addEventListener("toggle", (event) => event.target.open && fill(event.target), true);
    document.querySelectorAll("details[open]").forEach(fill);
    const reveal = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))
      ?.closest("details")?.setAttribute("open", "");
    window.addEventListener("hashchange", reveal);
    window.addEventListener("beforeprint", () => fill(document));
    reveal();
    note.remove();
  } catch (error) {
    note.textContent = `Long texts cannot be shown by this browser (${error}); the folder ` +
      "trajectories of the run holds all of them.";
  }
})();
