import { type Client, createClient } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";

import { lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { createSession } from "../host/open-streams.ts";
import { startHost, token } from "../host/served-host.ts";
import { type Bench, postgresUrl, type Sizes } from "./bench.ts";

/** Without runners: what is measured is taking messages, not answering them. */
const settings = { HOLDFAST_ROLES: "web" } as const;
const hostCount = 3;

/** How many messages a second are taken by one host and by three, on the same processors. */
export const admitOnThree: WorkloadDefinition<Bench> = {
  id: "admissions",
  title: "messages taken by one host and by three",
  async measure({ backend, sizes }) {
    await using database = await backend.createDatabase();
    const address = { kind: "postgres", url: postgresUrl(database) } as const;
    await using first = await startHost(address, makeScratch("admitting-host"), settings);
    await using second = await startHost(address, makeScratch("admitting-host"), settings);
    await using third = await startHost(address, makeScratch("admitting-host"), settings);
    const clients = [first, second, third].map((host) =>
      createClient({ baseUrl: host.address, token }),
    );
    const [one, three] = [new Samples(), new Samples()];
    for (let turn = 0; turn < sizes.admissionTurns; turn += 1) {
      one.add(await admit(clients.slice(0, 1), sizes));
      three.add(await admit(clients, sizes));
    }
    const params = { clients: sizes.admissionClients, turns: sizes.admissionTurns };
    return {
      lines: [
        lineOf("one host", one.p50, "/s", { params }),
        lineOf("three hosts", three.p50, "/s", { params: { ...params, hosts: hostCount } }),
        lineOf("three to one", three.p50 / one.p50, "×", {
          params,
          bound: { text: "≥ 1 ×", met: three.p50 >= one.p50 },
        }),
      ],
      notes: ["Medians of the turns. The clients share the processors with the hosts."],
    };
  },
};

/** Each of the clients sends to a session of its own, on one of the hosts. */
async function admit(hosts: readonly Client[], sizes: Sizes): Promise<number> {
  const clientOf = (index: number): Client => {
    const client = hosts[index % hosts.length];
    if (client === undefined) throw new Error("There is no host.");
    return client;
  };
  const sessions = await Promise.all(
    Array.from({ length: sizes.admissionClients }, (_, index) => createSession(clientOf(index))),
  );
  const startedAt = performance.now();
  const until = startedAt + sizes.admissionMs;
  const counts = await Promise.all(
    sessions.map((session, index) => sendUntil(until, clientOf(index), session)),
  );
  const sent = counts.reduce((sum, count) => sum + count, 0);
  return sent / ((performance.now() - startedAt) / 1_000);
}

async function sendUntil(until: number, client: Client, id: SessionId): Promise<number> {
  let sent = 0;
  for (; performance.now() < until; sent += 1) {
    const body = { clientId: `message-${sent}`, text: "Hello" };
    const answer = await client.sendMessage({ params: { id }, body });
    if (!answer.ok) throw new Error(`A message: ${answer.error.code}`);
  }
  return sent;
}
