import { createInterface } from "node:readline";
import type { Fetch } from "@holdfast/client";
import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { type Command, exit, type Terminal } from "../command.ts";
import { connectHost } from "../connection/connect.ts";
import { mcpStrings as texts } from "../strings/host.ts";

/** Standard output belongs to the protocol: everything else goes to standard error. */
export const mcp: Command = {
  usage: ["mcp"],
  about: texts.about,
  examples: [
    ["holdfast mcp", texts.examples.mcp],
    ["HOLDFAST_TOKEN=hfk_… holdfast mcp", texts.examples.key],
  ],
  settings: "reach",
  async run(given, terminal) {
    const connection = await connectHost(given, terminal, { localMode: "works" });
    if (!connection.ok) {
      terminal.printError(connection.failure.message);
      return exit.failed;
    }
    try {
      await passMessages(terminal, connection.value.request);
      return exit.done;
    } finally {
      await connection.value.close();
    }
  },
};

const cancelled = z.looseObject({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]) }),
});
const initialized = z.looseObject({ result: z.looseObject({ protocolVersion: z.string() }) });

/** A request of the client's that has no answer yet. */
interface OpenRequest {
  readonly abort: AbortController;
  readonly method: string;
  readonly settle: () => void;
  readonly settled: Promise<void>;
}

/** A client that closes its side still reads what it asked for; calls answer within a minute unless told otherwise. */
const lastAnswersMs = 60_000;
/** It is not answered but goes on until the client leaves. */
const subscription = "subscriptions/listen";

/** Passes each message on to the host's endpoint, and what comes back to the client, until the client leaves. */
async function passMessages({ input, output }: Terminal, request: Fetch): Promise<void> {
  const host = new StreamableHTTPClientTransport(new URL("http://holdfast/mcp"), {
    fetch: async (url, init = {}) => request(new URL(url).pathname, init),
  });
  const open = new Map<string | number, OpenRequest>();
  const write = (message: unknown): void => void output.write(`${JSON.stringify(message)}\n`);

  function close(id: string | number): OpenRequest | undefined {
    const closed = open.get(id);
    open.delete(id);
    closed?.settle();
    return closed;
  }

  function answer(message: JSONRPCMessage): void {
    const id = "id" in message && !("method" in message) ? message.id : undefined;
    const asked = id === undefined ? undefined : open.get(id);
    const version = asked?.method === "initialize" && initialized.safeParse(message).data;
    if (version) host.setProtocolVersion(version.result.protocolVersion);
    write(message);
    if (id !== undefined) close(id);
  }

  async function pass(message: JSONRPCMessage): Promise<void> {
    const cancel = cancelled.safeParse(message);
    // Over HTTP a request is cancelled by leaving its response.
    if (cancel.success) {
      close(cancel.data.params.requestId)?.abort.abort();
      return;
    }
    if (!isJSONRPCRequest(message)) {
      await host.send(message).catch(() => undefined);
      return;
    }
    const { id, method } = message;
    const abort = new AbortController();
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    open.set(id, { abort, method, settled, settle });
    try {
      await host.send(message, {
        requestSignal: abort.signal,
        onRequestStreamEnd: () => open.has(id) && answer(lostAnswer(message)),
      });
    } catch (error) {
      if (open.has(id)) answer(errorAnswer(message, error));
    }
  }

  Object.assign(host, { onmessage: answer });
  await host.start();
  for await (const line of createInterface({ input })) {
    const message = parseLine(line);
    if (isMessage(message)) void pass(message);
    else if (line.trim() !== "") write(message === undefined ? parseError : invalidRequest);
  }
  const asked = [...open.values()].filter(({ method }) => method !== subscription);
  await withTimeout({ clock: systemClock, ms: lastAnswersMs }, () =>
    Promise.all(asked.map(({ settled }) => settled)),
  );
  for (const id of open.keys()) close(id)?.abort.abort();
  await host.close();
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is JSONRPCMessage {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

const refusal = (code: number, message: string) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message },
});
const parseError = refusal(-32_700, texts.notJson);
const invalidRequest = refusal(-32_600, texts.notAMessage);

function lostAnswer({ id }: JSONRPCRequest): JSONRPCMessage {
  return {
    jsonrpc: "2.0",
    id,
    error: {
      code: -32_603,
      message: texts.hostStopped,
      data: { code: "host_stopped" },
    },
  };
}

/** The host's own error if it sent one. */
function errorAnswer({ id }: JSONRPCRequest, error: unknown): JSONRPCMessage {
  const text = error instanceof SdkHttpError ? error.data["text"] : undefined;
  const sent = parseAnswer(text);
  if (sent !== undefined) return { jsonrpc: "2.0", id, error: sent };
  const reason = error instanceof Error ? error.message : String(error);
  return {
    jsonrpc: "2.0",
    id,
    error: {
      code: -32_603,
      message: texts.noAnswer(reason),
      data: { code: "network_failed" },
    },
  };
}

function parseAnswer(text: unknown) {
  try {
    const message: unknown = JSON.parse(String(text));
    // An error about a message that could not be read has no id.
    const named = typeof message === "object" ? { ...message, id: 0 } : message;
    return isJSONRPCErrorResponse(named) ? named.error : undefined;
  } catch {
    return undefined;
  }
}
