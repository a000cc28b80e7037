// Runs the suites that need no second process on the store in memory.
import { referenceDatabase } from "@holdfast/testing/databases/reference";

import { agentCacheContract } from "./agent-cache.suite.test.ts";
import { approvalsContract } from "./approvals.suite.test.ts";
import { changesInBetweenContract } from "./changes-in-between.suite.test.ts";
import { compactionLockContract } from "./compaction-lock.suite.test.ts";
import { compactionTriggersContract } from "./compaction-triggers.suite.test.ts";
import { compactionContract } from "./compaction.suite.test.ts";
import { deletionContract } from "./deletion.suite.test.ts";
import { historyContract } from "./history.suite.test.ts";
import { lateJournalPositionContract } from "./late-journal-position.suite.test.ts";
import { lateJournalContract } from "./late-journal.suite.test.ts";
import { memoryAndEvictionContract } from "./memory-and-eviction.suite.test.ts";
import { memoryContract } from "./memory.suite.test.ts";
import { questionsAndRulesContract } from "./questions-and-rules.suite.test.ts";
import { runInboxContract } from "./run-inbox.suite.test.ts";
import { spillContract } from "./spill.suite.test.ts";
import { titlesContract } from "./titles.suite.test.ts";

agentCacheContract(referenceDatabase);
approvalsContract(referenceDatabase);
changesInBetweenContract(referenceDatabase);
compactionContract(referenceDatabase);
compactionLockContract(referenceDatabase);
compactionTriggersContract(referenceDatabase);
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
