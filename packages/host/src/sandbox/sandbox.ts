/** What a process may reach: nothing beyond its own loopback, everything the host can, or certain hosts by proxy. */
export type Network = "none" | "host" | { readonly hosts: readonly string[] };

/** What one process may see, change and reach besides the system and the toolchains. */
export interface Profile {
  /** Folders that it can change, at the same path inside. */
  readonly writable: readonly string[];
  /** Folders that it can read. */
  readonly readable?: readonly string[];
  readonly network: Network;
  /** Where it starts, if that is another folder than without a sandbox. */
  readonly folder?: string;
  /** A port on its loopback that people on this machine may open. */
  readonly publish?: number;
  /** Its home is a folder of the host under this name, which outlasts it; otherwise the home is empty and private. */
  readonly homeName?: string;
}

export interface PlainCommand {
  /** The program and its arguments, passed as they are, without a shell. */
  readonly argv: readonly [string, ...string[]];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** It is killed when the process that starts it ends, however that ends. */
  readonly endsWithParent?: true | undefined;
}

export type SandboxKind = "bwrap" | "namespaces" | "sandbox-exec" | "none";

/** One entry of what is visible inside. Paths are absolute and without links. */
export type Mount =
  /** The same folder or file as outside, or another one in its place. */
  | { readonly kind: "read" | "write"; readonly path: string; readonly from?: string }
  /** Empty, writable, in memory, gone with the process. */
  | {
      readonly kind: "private";
      readonly path: string;
      readonly megabytes: number;
      readonly mode: string;
    }
  /** Something inside a visible folder that not everybody may read: empty inside. */
  | { readonly kind: "hidden"; readonly path: string; readonly what: "file" | "folder" };

export interface RootLink {
  readonly path: string;
  readonly to: string;
}

export interface Limits {
  readonly processes: number;
  readonly memoryMegabytes: number;
  readonly fileMegabytes: number;
}

/** Everything an adapter needs to confine one process. */
export interface Plan {
  /** Parents before their children. */
  readonly mounts: readonly Mount[];
  /** `/bin` and the like, where they are links. */
  readonly rootLinks: readonly RootLink[];
  readonly network: Network;
  /** Sockets of the host's proxy, and how to reach them from inside. */
  readonly relay: Relay | null;
  /** The text of `~/.gitconfig`, if the home is private: name and e-mail address only. */
  readonly gitConfig: string;
  readonly limits: Limits;
}

export interface Relay {
  /** Holds the sockets. A path to a socket is short: the system limits it to about a hundred bytes. */
  readonly socketFolder: string;
  readonly publish: number | null;
}

/** Confines a process with the means of one system. */
export interface Sandbox {
  readonly kind: Exclude<SandboxKind, "none">;
  confine(command: PlainCommand, plan: Plan): PlainCommand;
}

/** Where the sockets and the relay program are inside. */
export const insideFolder = "/run/holdfast";
/** Nothing else listens on a loopback that belongs to the process alone. */
export const insideProxyPort = 47_128;
