/** An environment that loads this module first in a process, its threads and its children. */
export function preload(
  name: "set-clock.ts" | "make/set-hostname.ts",
): Record<"NODE_OPTIONS", string> {
  const option = `--import=${new URL(name, import.meta.url).href}`;
  return { NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} ${option}`.trim() };
}
