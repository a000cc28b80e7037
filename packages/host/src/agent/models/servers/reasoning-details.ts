import { type JsonObject, jsonObject } from "@holdfast/protocol";
import { z } from "zod";

const chunkWithDetails = z.object({
  choices: z.array(z.object({ delta: z.object({ reasoning_details: z.array(jsonObject) }) })),
});

/** In characters of JSON: larger ones are not kept, and the model goes on without its earlier thoughts. */
const maxLength = 200_000;
/** They come in pieces, like the text that they stand for. */
const growingFields = ["text", "summary"] as const;

/**
 * OpenRouter's `reasoning_details`: what the model behind it wants back unchanged with its next request. The package
 * does not know them.
 */
export class ReasoningDetails {
  #details: JsonObject[] = [];
  #length = 0;

  read(chunk: unknown): void {
    const { choices = [] } = chunkWithDetails.safeParse(chunk).data ?? {};
    for (const { delta } of choices)
      for (const detail of delta.reasoning_details) this.#add(detail);
  }

  /** Those that came since the last time, as an option of the part that they came with. */
  take(): JsonObject {
    const details = this.#details;
    this.#details = [];
    return details.length === 0 || this.#length > maxLength ? {} : { [optionName]: details };
  }

  #add(detail: JsonObject): void {
    this.#length += JSON.stringify(detail).length;
    if (this.#length > maxLength) return void (this.#details = []);
    const last = this.#details.at(-1);
    for (const field of growingFields) {
      const [before, more] = [last?.[field], detail[field]];
      const isSame = last?.["type"] === detail["type"] && last?.["index"] === detail["index"];
      if (typeof before !== "string" || typeof more !== "string" || !isSame) continue;
      const known = Object.entries(detail).filter(([, value]) => value !== null);
      const joined = { ...last, ...Object.fromEntries(known), [field]: before + more };
      this.#details[this.#details.length - 1] = joined;
      return;
    }
    this.#details.push(detail);
  }
}

const optionName = "reasoning_details";
const withDetails = z.looseObject({ [optionName]: z.array(jsonObject) });

/** The details in a part's options, and what else is in them. */
export function splitDetails(options: JsonObject | undefined): {
  readonly details: readonly JsonObject[];
  readonly rest: JsonObject;
} {
  const { [optionName]: _, ...rest } = options ?? {};
  return { details: withDetails.safeParse(options).data?.[optionName] ?? [], rest };
}

/** The options of a message that give the details back. */
export function detailsOption(details: readonly JsonObject[]): JsonObject {
  return { [optionName]: [...details] };
}
