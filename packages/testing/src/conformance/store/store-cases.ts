import type { StoreCase } from "../harness.ts";
import { answerCases, approvalCases } from "./approvals.ts";
import { auditCases } from "./audits.ts";
import { blobCases } from "./blobs.ts";
import { branchCases } from "./branches.ts";
import { commitCases } from "./commits.ts";
import { deltaCases } from "./deltas.ts";
import { fenceCases } from "./fences.ts";
import { leaseCases } from "./leases.ts";
import { ledgerCases } from "./ledgers.ts";
import { listCases } from "./lists.ts";
import { memoryCases } from "./memory.ts";
import { outboxCases } from "./outbox.ts";
import { ownerCases } from "./owners.ts";
import { readCases } from "./reads.ts";
import { registerCases, requestCases } from "./key-values.ts";
import { refusalCases } from "./refusals.ts";
import { textCases } from "./texts.ts";
import { timeCases } from "./times.ts";
import { trashCases } from "./trash.ts";

export { searchCases } from "../search/search.ts";

/** Every rule of the Store port except those of search. */
export const storeCases: readonly StoreCase[] = [
  ...commitCases,
  ...refusalCases,
  ...leaseCases,
  ...fenceCases,
  ...deltaCases,
  ...readCases,
  ...branchCases,
  ...listCases,
  ...ownerCases,
  ...ledgerCases,
  ...requestCases,
  ...blobCases,
  ...trashCases,
  ...textCases,
  ...timeCases,
  ...auditCases,
  ...approvalCases,
  ...answerCases,
  ...memoryCases,
  ...outboxCases,
  ...registerCases,
];
