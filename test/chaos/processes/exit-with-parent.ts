// Loaded in front of a host: whoever started it holds the other end of its standard input, and when they are gone, so is it.
import { Socket } from "node:net";

process.stdin.on("end", () => process.exit(1)).resume();
if (process.stdin instanceof Socket) process.stdin.unref();
