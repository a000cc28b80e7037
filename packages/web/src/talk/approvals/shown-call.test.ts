import * as fc from "fast-check";
import { expect, test } from "vitest";
import { piecesOf } from "./shown-call.tsx";

test("[safety] the pieces of a call are all of it, each small enough to be in view as a whole", () => {
  const texts = fc
    .array(fc.oneof(fc.string({ maxLength: 600 }), fc.constantFrom("\n", "\n\n\n\n\n\n", "x")))
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(texts, (text) => {
      const pieces = piecesOf(text);
      expect(pieces.join("")).toBe(text);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(480);
        expect(piece.split("\n").length).toBeLessThanOrEqual(6);
      }
    }),
  );
});
