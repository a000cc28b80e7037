// Exits with 0 if the host in this container is ready: it answers, and its store takes writes.
const { HOLDFAST_PORT = "8787", HOLDFAST_BASE_PATH = "" } = process.env;
const base = HOLDFAST_BASE_PATH.replace(/\/+$/, "");
try {
  const response = await fetch(`http://127.0.0.1:${HOLDFAST_PORT}${base}/health?ready`, {
    signal: AbortSignal.timeout(4_000),
  });
  process.stdout.write(`${await response.text()}\n`);
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  process.stdout.write(`The host does not answer: ${error.cause?.code ?? error.message}\n`);
  process.exitCode = 1;
}
