import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import type { ReplicatedOrder } from "./replicated-process.ts";

const supervisor = fileURLToPath(new URL("./replicated-process.ts", import.meta.url));

/** A PostgreSQL that gets a streaming replica, and can fail over to it. */
export interface ReplicatedPostgres {
  /** Of the current primary. */
  readonly url: string;
  /** One order at a time; resolves when it is carried out. */
  order(order: ReplicatedOrder): Promise<void>;
  stop(): Promise<void>;
}

interface Reply {
  readonly url?: string;
  readonly error?: string;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const child = spawn(process.execPath, [supervisor], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  const closed = once(child, "close");
  const output = createInterface(child.stdout);
  let url = "";
  const reply = async (): Promise<void> => {
    const line = once(output, "line").then(([text]) => JSON.parse(String(text)) as Reply);
    const answer = await Promise.race([line, closed.then((): Reply => ({ error: "It ended." }))]);
    if (answer.url === undefined) throw new Error(`PostgreSQL: ${answer.error}`);
    url = answer.url;
  };
  await reply();
  return {
    get url() {
      return url;
    },
    async order(order) {
      const done = reply();
      child.stdin.write(`${JSON.stringify(order)}\n`);
      await done;
    },
    async stop() {
      child.stdin.end();
      await closed;
    },
  };
}
