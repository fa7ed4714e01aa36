// Texts of a page that cover each other, stick out or are too small or too faint to be read.
(() => {
  const shown = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility());
  const faults = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push(`the page is ${root.scrollWidth} px wide`);
  const name = (e) => `${e.tagName}.${e.getAttribute("class")} ${e.textContent.slice(0, 40)}`;
  const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  const scrolls = (e) => e.closest(".wide, pre, .highlight");
  const range = document.createRange();
  const box = (e) => { range.selectNodeContents(e); return range.getBoundingClientRect(); };
  const labels = shown.filter((e) => own(e) && e.closest("figure"));
  const boxes = labels.map(box);
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, k) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 3) faults.push(`${name(labels[i])} and ${name(labels[i + k + 1])}`);
  }));
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const text = getComputedStyle(at).backgroundColor;
      const colour = rgb(text);
      if (text.startsWith("rgb") && (colour[3] ?? 1) === 1) return colour;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  for (const e of shown.filter(own)) {
    const style = getComputedStyle(e), at = box(e);
    if (parseFloat(style.fontSize) < 11) faults.push(`small: ${name(e)}`);
    if (!scrolls(e) && (at.right > innerWidth + 1 || at.left < -1)) faults.push(`out: ${name(e)}`);
    const ink = rgb(e.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.4) faults.push(`faint: ${name(e)}`);
  }
  return faults;
})()
