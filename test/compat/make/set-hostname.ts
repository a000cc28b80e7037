// Preloaded into the host that makes a fixture, so that wherever it is opened its leases are another machine's.
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";

os.hostname = () => "old-machine";
syncBuiltinESMExports();
