import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

export interface GitServer {
  readonly address: string;
  /** `host:port`, for the list of what an operator allows. */
  readonly host: string;
  /** The file of the certificate that git has to trust. */
  readonly authority: string;
  /** The paths that were asked for. */
  readonly asked: () => readonly string[];
  readonly close: () => Promise<void>;
}

/** Serves a repository over https, by git's own program for it. */
export async function serveRepository(repository: string): Promise<GitServer> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-git-"));
  const [key, authority] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const request =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost";
  const names = ["-addext", "subjectAltName=IP:127.0.0.2"];
  const files = ["-keyout", key, "-out", authority];
  execFileSync("openssl", [...request.split(" "), ...names, ...files], { stdio: "ignore" });
  const asked: string[] = [];
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(authority) },
    (incoming, response) => {
      const { pathname, search } = new URL(incoming.url ?? "/", "https://localhost");
      asked.push(pathname);
      const { "content-type": type = "", "git-protocol": protocol = "" } = incoming.headers;
      const backend = spawn("git", ["http-backend"], {
        env: {
          PATH: process.env["PATH"],
          GIT_PROJECT_ROOT: dirname(repository),
          GIT_HTTP_EXPORT_ALL: "1",
          GIT_CONFIG_COUNT: "1",
          GIT_CONFIG_KEY_0: "safe.directory",
          GIT_CONFIG_VALUE_0: "*",
          PATH_INFO: pathname,
          QUERY_STRING: search.slice(1),
          REQUEST_METHOD: incoming.method,
          CONTENT_TYPE: type,
          HTTP_CONTENT_ENCODING: incoming.headers["content-encoding"],
          GIT_PROTOCOL: Array.isArray(protocol) ? protocol.join() : protocol,
        },
        stdio: ["pipe", "pipe", "ignore"],
      });
      incoming.pipe(backend.stdin);
      const parts: Buffer[] = [];
      backend.stdout.on("data", (bytes: Buffer) => parts.push(bytes));
      backend.once("close", () => {
        const output = Buffer.concat(parts);
        const end = output.indexOf("\r\n\r\n");
        const headers = output.subarray(0, end).toString().split("\r\n");
        let status = 200;
        for (const line of headers) {
          const [name = "", value = ""] = line.split(/: (.*)/s);
          if (name === "Status") status = Number.parseInt(value, 10);
          else response.setHeader(name, value);
        }
        response.writeHead(status).end(output.subarray(end + 4));
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
  const bound = server.address();
  const host = `127.0.0.2:${typeof bound === "object" && bound !== null ? bound.port : 0}`;
  return {
    address: `https://${host}/${basename(repository)}/.git`,
    host,
    authority,
    asked: () => asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}
