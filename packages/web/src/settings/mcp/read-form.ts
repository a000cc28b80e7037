/** One entry per line, as it is. */
export function readLines(text: string): readonly string[] {
  return text.split(/\r?\n/).filter((line) => line !== "");
}

/** Lines like `NAME=value`; `null` if a line is not one. */
export function readVariables(text: string): Record<string, string> | null {
  const values: Record<string, string> = {};
  for (const line of readLines(text)) {
    const at = line.indexOf("=");
    if (at < 1) return null;
    values[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return values;
}
