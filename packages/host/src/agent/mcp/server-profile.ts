import { existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

import type { ProgramServer } from "../../ops/config/mcp-servers.ts";
import type { Network, Profile } from "../../sandbox/sandbox.ts";
import { belowRoot } from "../workspace/resolve-path.ts";

/**
 * What a server's process may see, change and reach. The folders that its settings name are its own; its home is kept
 * from one start to the next. A server without a network of its own in its settings keeps the host's.
 */
export function profileOf(name: string, server: ProgramServer): Profile {
  const sandbox = server.sandbox === "off" ? {} : (server.sandbox ?? {});
  const named = [server.command, ...(server.args ?? [])].filter((word) => word.startsWith("/"));
  const folder = server.cwd ?? (isPrivate(process.cwd()) ? "/tmp" : process.cwd());
  const isNamedFolder = (path: string): boolean => kindOf(path) === "folder" && !isPrivate(path);
  const writable = [
    ...(server.cwd === undefined ? [] : [server.cwd]),
    ...named.filter(isNamedFolder),
    ...(sandbox.writable ?? []),
  ];
  const programs = named.filter((path) => kindOf(path) === "file").flatMap(programFolders);
  return {
    folder,
    writable,
    readable: [...(folder === "/tmp" ? [] : [folder]), ...programs, ...(sandbox.folders ?? [])],
    network: networkOf(server),
    homeName: name,
  };
}

export function networkOf({ sandbox }: ProgramServer): Network {
  const network = sandbox === undefined || sandbox === "off" ? undefined : sandbox.network;
  if (network === undefined || network === "host") return "host";
  return network === "none" ? network : { hosts: network };
}

/** Contains the home of the person, or is it: never visible because of where the host was started. */
function isPrivate(path: string): boolean {
  return belowRoot(path, homedir()) !== null;
}

const projectFiles = ["package.json", "pyproject.toml", "pyvenv.cfg", "node_modules"];

/** What a program needs beside itself: its packages, or the project that it is part of. */
function programFolders(file: string): readonly string[] {
  const [packages] = /^.*?\/node_modules(?=\/)/.exec(file) ?? [];
  if (packages !== undefined) return [packages];
  for (let folder = dirname(file); !isPrivate(folder); folder = dirname(folder))
    if (projectFiles.some((name) => existsSync(join(folder, name)))) return [folder];
  return isPrivate(dirname(file)) ? [] : [dirname(file)];
}

function kindOf(path: string): "file" | "folder" | null {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined) return null;
  return info.isDirectory() ? "folder" : "file";
}
