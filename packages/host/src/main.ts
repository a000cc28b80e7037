import { homedir } from "node:os";
import { runCommandLine } from "./cli/index.ts";

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  personFolder: homedir(),
  input: process.stdin,
  output: process.stdout,
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
});
