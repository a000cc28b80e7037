import { escapeOf } from "./show-controls.ts";

/** Letters that are drawn like ASCII ones: a word of these alone passes for another one. */
const asciiTwins = "аеорсухіјѕԁԛԝһӏвкмнтАВСЕНІЈКМОРТХУЅӀΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυιγ";

/** Alphabets with letters that are drawn like ASCII ones. */
const nearAlphabets = String.raw`\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}`;
const rightToLeft = String.raw`[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]`;

/** Punctuation and symbols that pass for ASCII ones, except what only East Asian text has. */
const marks = new RegExp(
  String.raw`(?![\p{ASCII}×\u3001\u3002\u300A-\u3011])[\p{P}\p{Sm}\p{Sk}\p{Lm}\u2500-\u257F\u01C0-\u01C3\u1438\u1433\u0131\u0237\u0250-\u02AF]`,
  "gu",
);
/** These are drawn in another order than they are in. */
const reordered = new RegExp(`${rightToLeft}(?=[^\\p{L}]+${rightToLeft}|[^\\p{L}]*\\p{N})`, "gu");
const words = /[\p{L}\p{N}_]+/gu;
const foreign = new RegExp(`[${nearAlphabets}]`, "gu");
const onlyTwins = new RegExp(`^[${asciiTwins}\\d_]+$`, "u");
const plain = /^[\x20-\x7E]+$/;

/**
 * Writes as escapes what passes for a character of a command without being one: `＃` begins no comment, `”` ends no
 * text, and `сurl` with a Cyrillic letter is another program. Only for what a shell reads: in prose these are ordinary.
 */
export function showLookAlikes(shown: string): string {
  return shown
    .replace(words, (word) => {
      if (/[A-Za-z]/.test(word)) return word.replace(foreign, escapeOne);
      return onlyTwins.test(word) ? word.replace(/[^\d_]/gu, escapeOne) : word;
    })
    .replace(reordered, escapeOne)
    .replace(marks, escapeOne)
    .replace(/\P{ASCII}/gu, (character) =>
      plain.test(character.normalize("NFKC")) ? escapeOne(character) : character,
    );
}

function escapeOne(character: string): string {
  return escapeOf(character, 1);
}
