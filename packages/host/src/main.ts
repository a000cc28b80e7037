import { homedir } from "node:os";
import { exitOnBrokenPipe } from "./cli/process-signals.ts";
import { runCommandLine } from "./cli/cli.ts";

const args = process.argv.slice(2);

// A host printed its line long before, and serves even if nobody reads its output any more.
exitOnBrokenPipe(process, args[0] === "serve" ? () => undefined : (code) => process.exit(code));

process.exitCode = await runCommandLine(args, {
  environment: process.env,
  personFolder: homedir(),
  input: process.stdin,
  output: process.stdout,
  print: (line) => console.log(line),
  printError: (line) => console.error(line),
});
