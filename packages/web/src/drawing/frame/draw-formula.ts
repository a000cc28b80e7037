import { renderToString } from "katex";
import type { TreeNode } from "../jobs.ts";

/** Bounds what a short source can expand to. */
const maxExpansions = 500;
const maxSizeEm = 20;

export function drawFormula(source: string, layout: "line" | "display"): TreeNode {
  const markup = renderToString(source, {
    displayMode: layout === "display",
    output: "htmlAndMathml",
    throwOnError: true,
    strict: "ignore",
    // No links, images, classes or styles from the source.
    trust: false,
    maxExpand: maxExpansions,
    maxSize: maxSizeEm,
  });
  const root = new DOMParser().parseFromString(markup, "text/html").body.firstElementChild;
  if (root === null) throw new Error("There is nothing to draw.");
  return treeOf(root);
}

function treeOf(element: Element): TreeNode {
  const names = element.getAttributeNames().filter((name) => name !== "style");
  return {
    tag: element.localName,
    attributes: Object.fromEntries(names.map((name) => [name, element.getAttribute(name) ?? ""])),
    style: styleOf(element),
    children: Array.from(element.childNodes, (child) =>
      child instanceof Element ? treeOf(child) : (child.textContent ?? ""),
    ),
  };
}

function styleOf(element: Element): TreeNode["style"] {
  if (!(element instanceof HTMLElement || element instanceof SVGElement)) return {};
  const { style } = element;
  return Object.fromEntries(Array.from(style, (name) => [name, style.getPropertyValue(name)]));
}
