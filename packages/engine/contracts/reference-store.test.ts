// Runs the suites that need no second process on the store in memory.
import { referenceDatabase } from "@holdfast/testing/databases/reference";

import { approvalsContract } from "./approvals.ts";
import { compactionLockContract } from "./compaction-lock.ts";
import { compactionContract } from "./compaction.ts";
import { deletionContract } from "./deletion.ts";
import { historyContract } from "./history.ts";
import { lateJournalPositionContract } from "./late-journal-position.ts";
import { lateJournalContract } from "./late-journal.ts";
import { memoryAndEvictionContract } from "./memory-and-eviction.ts";
import { memoryContract } from "./memory.ts";
import { questionsAndRulesContract } from "./questions-and-rules.ts";
import { runInboxContract } from "./run-inbox.ts";
import { spillContract } from "./spill.ts";
import { titlesContract } from "./titles.ts";

approvalsContract(referenceDatabase);
compactionContract(referenceDatabase);
compactionLockContract(referenceDatabase);
deletionContract(referenceDatabase);
historyContract(referenceDatabase);
lateJournalContract(referenceDatabase);
lateJournalPositionContract(referenceDatabase);
memoryAndEvictionContract(referenceDatabase);
memoryContract(referenceDatabase);
questionsAndRulesContract(referenceDatabase);
runInboxContract(referenceDatabase);
spillContract(referenceDatabase);
titlesContract(referenceDatabase);
