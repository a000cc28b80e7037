/** The tokenizer takes quadratic time on a run without spaces. */
const maxPieceLength = 400;

/** Splits a text into pieces that tokenize quickly, before a space if there is one. */
export function* splitForTokenizer(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = Math.min(text.length, from + maxPieceLength);
    const blank = end === text.length ? end : text.lastIndexOf(" ", end);
    let to = blank > from ? blank : end;
    if (to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
