// Preloaded into a host: its parent holds the other end of its standard input, and when the parent is gone, the host
// exits.
import { Socket } from "node:net";

process.stdin.on("end", () => process.exit(1)).resume();
if (process.stdin instanceof Socket) process.stdin.unref();
