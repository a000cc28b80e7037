// Runs where the packages are installed. Checks a store as its author would, without a test runner.
import { commitCases } from "@holdfast/testing/conformance/store/commits";
import { fenceCases } from "@holdfast/testing/conformance/store/fences";
import { sqliteHarness } from "@holdfast/testing/stores/database-harnesses";

const harness = await sqliteHarness.open();
const cases = [...commitCases, ...fenceCases];
for (const { run } of cases) await run(harness);
const problems = await harness.fsck?.();
await harness.close();
process.stdout.write(`${cases.length > 10 ? "many" : "few"} cases, ${problems?.length} problems\n`);
