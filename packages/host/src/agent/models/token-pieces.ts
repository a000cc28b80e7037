/** Its work grows with the square of a run that has no blank in it. */
const longestPiece = 400;

/** A text in pieces that a tokenizer is quick with, cut before a blank where there is one. */
export function* splitForTokenizer(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const most = Math.min(text.length, from + longestPiece);
    const blank = most === text.length ? most : text.lastIndexOf(" ", most);
    let to = blank > from ? blank : most;
    if (to < text.length && /[\ud800-\udbff]/.test(text.charAt(to - 1))) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}
