#!/usr/bin/env node
// Plain JavaScript, so that a Node that is too old for the rest still gets as far as this sentence.
const needed = 24;
const major = Number(process.versions.node.split(".")[0]);

if (major < needed) {
  process.stderr.write(
    `Holdfast needs Node ${needed} or newer and this is ${process.version}: install a current Node from https://nodejs.org, or in a clone run "npm start", which brings its own.\n`,
  );
  process.exitCode = 1;
} else {
  await import("../src/main.ts");
}
