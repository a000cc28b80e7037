import { relayFile } from "./network/relay-program.ts";
import type { Limits, Plan, PlainCommand } from "./sandbox.ts";
import { insideFolder, insideProxyPort } from "./sandbox.ts";

/**
 * What runs inside before the command, as a script for `/bin/sh`. Its arguments are data and never become part of the
 * text. `prlimit` starts the program as it is named: a shell would take `eval` or `cd` for its own.
 */
const script = `
folder=$1 git=$2 node=$3 relay=$4 publish=$5
shift 5
if [ -n "$git" ]; then printf %s "$git" > "$HOME/.gitconfig" || exit 125; fi
if [ -n "$node" ]; then
  # The relay closes its output once it listens.
  ready=$("$node" "$relay" "$publish" </dev/null &)
  if [ "$ready" != ready ]; then echo "The network of the sandbox could not be set up." >&2; exit 125; fi
fi
cd -- "$folder" || exit 125
"$@"
exit $?
`;

const megabyte = 1024 * 1024;

function limitArguments(prlimit: string, limits: Limits): readonly string[] {
  return [
    prlimit,
    `--nproc=${limits.processes}`,
    `--data=${limits.memoryMegabytes * megabyte}`,
    `--fsize=${limits.fileMegabytes * megabyte}`,
    "--core=0",
    "--",
  ];
}

/** The arguments for a shell that prepares the inside and then runs the command as its child. */
export function innerArguments(
  prlimit: string,
  command: PlainCommand,
  plan: Plan,
): readonly [string, ...string[]] {
  const { relay, gitConfig, limits } = plan;
  const network =
    relay === null ? ["", "", ""] : [process.execPath, relayInside, `${relay.publish ?? 0}`];
  return [
    "/bin/sh",
    "-c",
    script,
    "sh",
    command.folder,
    gitConfig,
    ...network,
    ...limitArguments(prlimit, limits),
    ...command.argv,
  ];
}

const relayInside = `${insideFolder}/${relayFile}`;

/** Only what is inside: the host's folders for temporary files and sockets are not. */
export function innerEnvironment({ environment }: PlainCommand, plan: Plan, home: string | null) {
  const proxy = `http://127.0.0.1:${insideProxyPort}`;
  return {
    ...environment,
    TMPDIR: "/tmp",
    HOME: home ?? "/tmp",
    ...(plan.relay !== null &&
      typeof plan.network !== "string" && {
        HTTP_PROXY: proxy,
        HTTPS_PROXY: proxy,
        http_proxy: proxy,
        https_proxy: proxy,
        NO_PROXY: "localhost,127.0.0.1,::1",
        no_proxy: "localhost,127.0.0.1,::1",
        NODE_USE_ENV_PROXY: "1",
      }),
  };
}
