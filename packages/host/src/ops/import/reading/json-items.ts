/** One element of an array, as its bytes, or what is wrong with the document. */
export type JsonItem =
  | { readonly kind: "item"; readonly index: number; readonly bytes: Buffer }
  | { readonly kind: "too_large"; readonly index: number; readonly length: number }
  /** The document ends within this element, or goes on after its end. */
  | { readonly kind: "torn"; readonly index: number; readonly bytes: Buffer }
  /** It is neither an array nor an object. */
  | { readonly kind: "other"; readonly bytes: Buffer };

const code = {
  quote: 0x22,
  comma: 0x2c,
  backslash: 0x5c,
  openList: 0x5b,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const;
const keptOfOther = 1_024;

/**
 * The elements of a document that is one array, however long, without having all of it in memory. A document that is an
 * object is its only element. Elements are cut out by their brackets, and parsed by whoever wants them.
 */
export async function* readJsonItems(
  chunks: AsyncIterable<Uint8Array>,
  maxItemBytes: number,
): AsyncGenerator<JsonItem> {
  const cutter = new ItemCutter(maxItemBytes);
  for await (const chunk of chunks) {
    yield* cutter.cut(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (cutter.hasEnded) return;
  }
  yield* cutter.end();
}

class ItemCutter {
  hasEnded = false;
  readonly #maxBytes: number;
  #place: "before" | "list" | "single" | "after" = "before";
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #index = 0;
  #parts: Buffer[] = [];
  #length = 0;
  /** Whether the element has anything but white space. */
  #hasContent = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  *cut(chunk: Buffer): Generator<JsonItem> {
    let from = 0;
    let slash = -2;
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inString) {
        if (this.#isEscaped) {
          this.#isEscaped = false;
          continue;
        }
        const quote = chunk.indexOf(code.quote, at);
        if (slash !== -1 && slash < at) slash = chunk.indexOf(code.backslash, at);
        if (slash !== -1 && (quote === -1 || slash < quote)) {
          at = slash;
          this.#isEscaped = true;
          continue;
        }
        if (quote === -1) break;
        at = quote;
        this.#inString = false;
        continue;
      }
      const byte = chunk[at] ?? 0;
      if (isSpace(byte)) continue;
      if (this.#place === "before") {
        // A byte order mark.
        if (byte === 0xef || byte === 0xbb || byte === 0xbf) continue;
        if (byte === code.openList) {
          this.#place = "list";
          from = at + 1;
          continue;
        }
        if (byte !== code.openObject) {
          this.hasEnded = true;
          yield { kind: "other", bytes: chunk.subarray(at, at + keptOfOther) };
          return;
        }
        this.#place = "single";
        from = at;
      }
      if (this.#place === "after") {
        this.hasEnded = true;
        yield { kind: "torn", index: this.#index, bytes: chunk.subarray(at, at + keptOfOther) };
        return;
      }
      switch (byte) {
        case code.quote:
          this.#inString = true;
          this.#hasContent = true;
          break;
        case code.openList:
        case code.openObject:
          this.#depth += 1;
          this.#hasContent = true;
          break;
        case code.closeList:
        case code.closeObject:
          if (this.#depth === 0) {
            this.#add(chunk.subarray(from, at));
            yield* this.#take();
            this.#place = "after";
            break;
          }
          this.#depth -= 1;
          if (this.#depth > 0 || this.#place !== "single") break;
          this.#add(chunk.subarray(from, at + 1));
          yield* this.#take();
          this.#place = "after";
          break;
        case code.comma:
          if (this.#depth > 0) break;
          this.#add(chunk.subarray(from, at));
          yield* this.#take();
          from = at + 1;
          break;
        default:
          this.#hasContent = true;
      }
    }
    if (this.#place === "list" || this.#place === "single") this.#add(chunk.subarray(from));
  }

  *end(): Generator<JsonItem> {
    if (this.#place === "after") return;
    if (this.#place === "before") yield { kind: "other", bytes: Buffer.alloc(0) };
    else yield { kind: "torn", index: this.#index, bytes: Buffer.concat(this.#parts) };
  }

  #add(part: Buffer): void {
    this.#length += part.length;
    if (this.#length <= this.#maxBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  *#take(): Generator<JsonItem> {
    const [index, length, parts] = [this.#index, this.#length, this.#parts];
    const hasContent = this.#hasContent;
    this.#parts = [];
    this.#length = 0;
    this.#hasContent = false;
    // Nothing between brackets or commas.
    if (!hasContent) return;
    this.#index += 1;
    if (length > this.#maxBytes) yield { kind: "too_large", index, length };
    else yield { kind: "item", index, bytes: Buffer.concat(parts) };
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
