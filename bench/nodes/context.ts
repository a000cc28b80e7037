import { createClient } from "@holdfast/client";
import { Client } from "pg";

import { lineOf } from "../harness/figures.ts";
import { Samples } from "../harness/samples.ts";
import { makeScratch } from "../harness/scratch.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { createSession } from "../host/open-streams.ts";
import { startHost, token } from "../host/served-host.ts";
import { type Bench, postgresUrl } from "./bench.ts";

const mostRatio = 1.5;

/** Reading a session's context, with an empty ledger and with a large one. */
export const readContexts: WorkloadDefinition<Bench> = {
  id: "context",
  title: "a session's context beside a large ledger",
  async measure({ backend, sizes }) {
    await using database = await backend.createDatabase();
    const url = postgresUrl(database);
    const address = { kind: "postgres", url } as const;
    await using host = await startHost(address, makeScratch("context-host"));
    const client = createClient({ baseUrl: host.address, token });
    const id = await createSession(client);
    const sent = await client.sendMessage({
      params: { id },
      body: { clientId: "first", text: "{words:20}" },
    });
    if (!sent.ok) throw new Error(`A message: ${sent.error.code}`);
    const read = async (): Promise<number> => {
      const times = new Samples();
      for (let count = 0; count < sizes.contextReads; count += 1) {
        const startedAt = performance.now();
        const answer = await client.readContext({ params: { id } });
        if (!answer.ok) throw new Error(`The context: ${answer.error.code}`);
        times.add(performance.now() - startedAt);
      }
      return times.p50;
    };
    await read();
    const empty = await read();
    await fillLedger(url, sizes.ledgerRows);
    const full = await read();
    const params = { reads: sizes.contextReads, rows: sizes.ledgerRows };
    return {
      lines: [
        lineOf("with an empty ledger, p50", empty, "ms", { params }),
        lineOf("with a large one, p50", full, "ms", { params }),
        lineOf("large to empty", full / empty, "×", { params, below: mostRatio }),
      ],
    };
  },
};

/** Usage of other sessions and runs. */
async function fillLedger(url: string, rows: number): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(
    `INSERT INTO usage (session_id, seq, run_id, owner_id, at, model, input, output, cache_read,
                        cache_write, cost_micros)
     SELECT 'ses_' || n / 100, n, 'run_' || n / 10, 'owner', n, 'model', 100, 10, 0, 0, 5
       FROM generate_series(1, $1::int) n`,
    [rows],
  );
  await client.query("VACUUM ANALYZE usage");
  await client.end();
}
