import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { z } from "zod";

import { splitForTokenizer } from "./token-pieces.ts";

/** The tokenizer takes fifty megabytes and may be slow: it runs here, off the thread that serves people. */
/** Special tokens in a text are plain text here. */
const asText = { disallowedSpecial: new Set<string>() };

const request = z.object({ id: z.number(), text: z.string() });

parentPort?.on("message", (message: unknown) => {
  const { id, text } = request.parse(message);
  let tokens = 0;
  for (const piece of splitForTokenizer(text)) tokens += countTokens(piece, asText);
  parentPort?.postMessage({ id, tokens }, []);
});
