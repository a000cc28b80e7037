import { RequestError } from "@agentclientprotocol/sdk";
import { acpStrings } from "../strings/acp.ts";

const newline = 0x0a;

/**
 * Passes lines on, and replaces one that is too long: the SDK would end the connection there, and with it everything
 * that the editor shows. `refuse` writes the answer.
 */
export function boundedLines(
  maxBytes: number,
  refuse: (message: object) => void,
): TransformStream<Uint8Array, Uint8Array> {
  let held: Uint8Array[] = [];
  let length = 0;
  let isSkipping = false;

  function add(piece: Uint8Array): void {
    length += piece.byteLength;
    if (isSkipping) return;
    held.push(piece);
    if (length <= maxBytes) return;
    held = [];
    isSkipping = true;
    const sentence = acpStrings.messageTooLong(maxBytes);
    const { code, message } = new RequestError(-32_600, sentence);
    refuse({ jsonrpc: "2.0", id: null, error: { code, message } });
  }

  function endLine(controller: TransformStreamDefaultController<Uint8Array>): void {
    if (!isSkipping && held.length > 0) controller.enqueue(Buffer.concat(held));
    held = [];
    length = 0;
    isSkipping = false;
  }

  return new TransformStream({
    transform(chunk, controller) {
      let from = 0;
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
        add(chunk.subarray(from, at + 1));
        endLine(controller);
        from = at + 1;
      }
      if (from < chunk.byteLength) add(chunk.slice(from));
    },
    flush: endLine,
  });
}
