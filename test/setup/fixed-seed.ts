// Runs before every test file. A property that fails once in a thousand runs should be found by a deliberate search
// with other seeds, not by whoever changes something else.
import * as fc from "fast-check";

const seed = Number(process.env["HOLDFAST_TEST_SEED"] ?? 20_261_116);
fc.configureGlobal({ seed });
