/** Cuts a stream of bytes into lines, in bounded memory. */
export interface LineReader {
  /** The lines that are whole now. `null`: one is longer than it may be; what was held of it is let go of. */
  add(bytes: Buffer): readonly string[] | null;
}

export function createLineReader(longest: number): LineReader {
  let pieces: Buffer[] = [];
  let held = 0;

  function letGo(): null {
    pieces = [];
    held = 0;
    return null;
  }

  return {
    add(bytes) {
      const lines: string[] = [];
      let from = 0;
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
        const line = Buffer.concat([...pieces, bytes.subarray(from, end)]);
        letGo();
        if (line.byteLength > longest) return null;
        lines.push(line.toString("utf8"));
        from = end + 1;
      }
      const rest = bytes.subarray(from);
      if (rest.byteLength > 0) pieces.push(rest);
      held += rest.byteLength;
      return held > longest ? letGo() : lines;
    },
  };
}
