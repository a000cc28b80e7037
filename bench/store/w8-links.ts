import {
  chainStart,
  commitmentOf,
  encodeLink,
  linkHash,
  newSalt,
} from "@holdfast/store/hash-chain";
import { ids } from "@holdfast/protocol";

import { lineOf } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type Bench } from "./bench.ts";

const maxMicroseconds = 20;
const maxBytes = 80;

/** What linking an event to the one before it costs: processor time, and bytes in its row. */
export const linkEvents: WorkloadDefinition<Bench> = {
  id: "W8",
  title: "link an event by hash",
  async measure({ corpus, sizes }: Bench) {
    const rows = Array.from({ length: 1_000 }, (_, index) => ({
      seq: index + 1,
      id: ids.make("event"),
      type: "message.user",
      v: 1,
      at: 1,
      runId: ids.make("run"),
      quiet: false,
      data: JSON.stringify({ messageId: ids.make("message"), parts: [corpus.at(index)] }),
    }));
    let hash = chainStart(ids.make("session"));
    let bytes = 0;
    const used = process.cpuUsage();
    for (let round = 0; round < sizes.pace.rounds; round += 1) {
      for (const row of rows) {
        const salt = newSalt();
        hash = linkHash(hash, commitmentOf(row, { salt, output: null }));
        bytes = encodeLink({ salt, hash, output: null }).length;
      }
    }
    const { user, system } = process.cpuUsage(used);
    const each = (user + system) / (sizes.pace.rounds * rows.length);
    return {
      lines: [
        lineOf("processor time for an event", each / 1_000, "ms", {
          bound: { text: `≤ ${maxMicroseconds} µs`, met: each <= maxMicroseconds },
        }),
        lineOf("bytes in its row", bytes, "bytes", {
          bound: { text: `≤ ${maxBytes} bytes`, met: bytes <= maxBytes },
        }),
      ],
    };
  },
};
