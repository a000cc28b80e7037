import { WriteStream } from "node:tty";

export type Style =
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "code"
  | "good"
  | "bad"
  | "accent"
  | "keyword"
  | "string"
  | "number"
  | "name";

/** Wraps text in a style. Without colour, it returns the text unchanged. */
export type Paint = (style: Style, text: string) => string;

type Codes = Readonly<Record<Style, readonly [string, string]>>;

const fonts = { bold: ["1", "22"], italic: ["3", "23"], underline: ["4", "24"] } as const;
const colour = (number: number): readonly [string, string] => [`38;5;${number}`, "39"];

/** From the 256 fixed colours: each has a contrast of about 4 to 5 with black, and with white. */
const fixedColours: Codes = {
  ...fonts,
  dim: colour(243),
  code: colour(30),
  good: colour(28),
  bad: colour(160),
  accent: colour(133),
  keyword: colour(162),
  string: colour(28),
  number: colour(130),
  name: colour(31),
};

/** For terminals with 16 colours, which their owner chooses. Blue is left out: on black it is hard to read. */
const namedColours: Codes = {
  ...fonts,
  dim: ["2", "22"],
  code: ["36", "39"],
  good: ["32", "39"],
  bad: ["31", "39"],
  accent: ["35", "39"],
  keyword: ["35", "39"],
  string: ["32", "39"],
  number: ["33", "39"],
  name: ["36", "39"],
};

export const plainPaint: Paint = (_, text) => text;

function paintWith(codes: Codes): Paint {
  return (style, text) => {
    const [on, off] = codes[style];
    return text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

const fixedPaint = paintWith(fixedColours);
const namedPaint = paintWith(namedColours);

/** Colours only for terminals, and not if a person declined them (https://no-color.org). */
export function createPaint(
  output: { readonly isTTY?: boolean | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const forced = environment["FORCE_COLOR"];
  const isDeclined = (environment["NO_COLOR"] ?? "") !== "" || environment["TERM"] === "dumb";
  if (isDeclined || forced === "0") return plainPaint;
  if (output.isTTY !== true && (forced ?? "") === "") return plainPaint;
  const depth = WriteStream.prototype.getColorDepth({ ...environment });
  return depth >= 8 ? fixedPaint : namedPaint;
}

export interface RenderStyle {
  readonly width: number;
  readonly paint: Paint;
}
