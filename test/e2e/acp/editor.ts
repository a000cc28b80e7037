import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import {
  client,
  type ClientCapabilities,
  type ClientContext,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { hostScript } from "@holdfast/testing/process/start-process";
import { onTestFinished } from "vitest";
import { settingsFor } from "../served-host.ts";

export type Update = SessionUpdate & { _meta?: { holdfast?: { seq: number; epoch: number } } };

export interface EditorOptions {
  readonly settings: Record<string, string>;
  readonly args?: readonly string[];
  readonly capabilities?: ClientCapabilities;
  readonly name?: string;
  readonly protocolVersion?: number;
  readonly onPermission?: (
    request: RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<RequestPermissionResponse> | RequestPermissionResponse;
  readonly onQuestion?: (
    request: CreateElicitationRequest,
  ) => Promise<CreateElicitationResponse> | CreateElicitationResponse;
}

/** The real `holdfast acp` process, spoken to by the SDK's own client side. */
export async function openEditor(options: EditorOptions) {
  const bridge = startBridge(options.settings, options.args);
  const updates: { sessionId: string; update: Update }[] = [];
  const permissions: RequestPermissionRequest[] = [];
  const waiting = new Set<() => void>();
  const note = (): void => waiting.forEach((wake) => wake());
  const app = client({ name: options.name ?? "test-editor" })
    .onNotification(
      methods.client.session.update,
      ({ params }: { params: SessionNotification }) => {
        updates.push({ sessionId: params.sessionId, update: params.update as Update });
        note();
      },
    )
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => {
      permissions.push(params);
      note();
      return options.onPermission?.(params, signal) ?? { outcome: { outcome: "cancelled" } };
    })
    .onRequest(methods.client.elicitation.create, ({ params }) => {
      note();
      return options.onQuestion?.(params) ?? { action: "cancel" };
    });
  const connection = app.connect(bridge.stream);
  const agent: ClientContext = connection.agent;
  const initialized = await agent.request(methods.agent.initialize, {
    protocolVersion: options.protocolVersion ?? 1,
    clientInfo: { name: options.name ?? "test-editor", version: "1" },
    clientCapabilities: options.capabilities ?? {},
  });

  /** Resolves when something is among what arrived. */
  function until<T>(find: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const look = (): void => {
        const found = find();
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  }

  return {
    ...bridge,
    agent,
    initialized,
    updates,
    permissions,
    until,
    untilUpdate: (matches: (update: Update) => boolean) =>
      until(() => updates.find(({ update }) => matches(update))?.update),
    text: (kind: Update["sessionUpdate"] = "agent_message_chunk") => textOf(updates, kind),
    newSession: async (cwd: string) =>
      agent.request(methods.agent.session.new, { cwd, mcpServers: [] }),
    prompt: (sessionId: string, text: string) =>
      agent.request(methods.agent.session.prompt, {
        sessionId,
        prompt: [{ type: "text", text }],
      }),
    load: (sessionId: string, cwd: string) =>
      agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] }),
  };
}

export function textOf(
  updates: readonly { update: Update }[],
  kind: Update["sessionUpdate"] = "agent_message_chunk",
): string {
  return updates
    .map(({ update }) =>
      update.sessionUpdate === kind && "content" in update && !Array.isArray(update.content)
        ? update.content?.type === "text"
          ? update.content.text
          : ""
        : "",
    )
    .join("");
}

/** The process alone, for what the SDK's client would never send. */
export function startBridge(settings: Record<string, string>, args: readonly string[] = []) {
  const child = spawn(process.execPath, [hostScript(), "acp", ...args], {
    env: { ...process.env, ...settingsFor(settings) },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  const exited = once(child, "exit");
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdout.on("data", (bytes: Buffer) => {
    stdout += bytes.toString("utf8");
    listeners.forEach((listen) => listen());
  });
  child.stdin.on("error", () => undefined);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return {
    stream: ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
    ),
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    write: (text: string | Uint8Array): void => void child.stdin.write(text),
    endInput: (): void => void child.stdin.end(),
    kill: async (): Promise<void> => {
      child.kill("SIGKILL");
      await exited;
    },
    /** The answer with this id, when it has come. */
    answer: (id: number | null): Promise<Record<string, unknown>> =>
      new Promise((resolve) => {
        const look = (): void => {
          for (const line of stdout.split("\n").slice(0, -1)) {
            const message = JSON.parse(line) as Record<string, unknown>;
            if (message["id"] !== id || "method" in message) continue;
            listeners.delete(look);
            resolve(message);
          }
        };
        listeners.add(look);
        look();
      }),
  };
}
