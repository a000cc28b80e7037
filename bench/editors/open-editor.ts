import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  client,
  type ClientContext,
  methods,
  ndJsonStream,
  type SessionNotification,
} from "@agentclientprotocol/sdk";

import { token } from "../host/served-host.ts";

/** An editor: the SDK's client side, and the bridge as an editor starts it. */
export interface Editor extends AsyncDisposable {
  readonly agent: ClientContext;
}

export async function openEditor(
  address: string,
  home: string,
  onUpdate: (update: SessionNotification["update"]) => void,
): Promise<Editor> {
  const bin = fileURLToPath(new URL("../../packages/host/bin/holdfast.mjs", import.meta.url));
  const bridge = spawn(process.execPath, [bin, "acp", "--url", address], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, HOLDFAST_HOME: home, HOLDFAST_TOKEN: token },
  });
  const exited = once(bridge, "exit");
  const stream = ndJsonStream(
    Writable.toWeb(bridge.stdin) as WritableStream<Uint8Array>,
    Readable.toWeb(bridge.stdout) as unknown as ReadableStream<Uint8Array>,
  );
  const { agent } = client({ name: "bench" })
    .onNotification(methods.client.session.update, ({ params }) => onUpdate(params.update))
    .connect(stream);
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  await agent.request(methods.agent.session.list, {});
  return {
    agent,
    async [Symbol.asyncDispose]() {
      bridge.stdin.end();
      await exited;
    },
  };
}
