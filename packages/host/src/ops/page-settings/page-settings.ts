import type { Store } from "@holdfast/engine";
import {
  type Json,
  json,
  ownerId,
  type PageSettingName,
  pageSettingNames,
  type SettingView,
} from "@holdfast/protocol";
import { openCachedRegister } from "../../util/cached-register.ts";
import type { Setting } from "../config/setting.ts";
import { type Config, type ConfigValue, settings } from "../config/settings.ts";

/** Settings that people change on the page. They are rows of the store, so they apply on every node. */
export interface PageSettings {
  /** What applies: flags, environment and files win over what was changed on the page. Its values change. */
  readonly config: Config;
  list(): readonly SettingView[];
  view(name: PageSettingName): SettingView;
  /** `undefined` removes what was set here. Rejects with a `StoreFailure`. */
  change(name: PageSettingName, value: Json | undefined): Promise<SettingChange>;
  /** Called once, before anything reads `config`. */
  load(): Promise<void>;
  refresh(): Promise<void>;
}

export type SettingChange =
  | { readonly kind: "changed" }
  /** A flag, the environment or the file sets it. */
  | { readonly kind: "configured"; readonly where: string }
  | { readonly kind: "invalid"; readonly message: string };

/** Read once, when the host starts. */
const readAtStart: ReadonlySet<PageSettingName> = new Set<PageSettingName>(["sandbox"]);

const owner = ownerId.parse("owner");
const maxRows = 100;

export function createPageSettings(
  given: Config,
  { register }: Pick<Store, "register">,
): PageSettings {
  let stored: ReadonlyMap<string, unknown> = new Map();
  const rows = openCachedRegister({
    register,
    owner,
    prefix: "setting/",
    schema: json,
    maxRows,
    onChange: (all) => {
      stored = new Map(all.flatMap(decode));
    },
  });
  let atStart: ReadonlyMap<string, unknown> = stored;

  function live(name: PageSettingName): ConfigValue<unknown> {
    const configured = given[name];
    if (configured.source.from !== "default") return configured;
    const values = () => (readAtStart.has(name) ? atStart : stored);
    return {
      get value() {
        return values().has(name) ? values().get(name) : configured.value;
      },
      get source() {
        return values().has(name) ? { from: "page" as const } : configured.source;
      },
    };
  }
  const changeable = Object.fromEntries(pageSettingNames.map((name) => [name, live(name)]));
  // Each stored value passed the schema of its own setting.
  const config = { ...given, ...changeable } as Config;

  function view(name: PageSettingName): SettingView {
    const { value, source } = config[name];
    const { about, allowed } = settings[name];
    const next = stored.has(name) ? stored.get(name) : given[name].value;
    const waits = given[name].source.from === "default" && toJson(next) !== toJson(value);
    return {
      name,
      about,
      allowed,
      value: json.parse(value ?? null),
      source: { ...source },
      effect: readAtStart.has(name) ? "restart" : "now",
      ...(waits && { afterRestart: json.parse(next ?? null) }),
    };
  }

  return {
    config,
    list: () => pageSettingNames.map(view),
    view,
    async change(name, value) {
      const { source } = given[name];
      if (source.from !== "default" && source.from !== "page")
        return { kind: "configured", where: "path" in source ? source.path : source.name };
      if (value !== undefined && !parse(name, value).success)
        return { kind: "invalid", message: `it must be ${settings[name].allowed}` };
      await rows.change((all) => {
        const known = all.find((row) => row.name === name)?.value ?? null;
        const next = value ?? null;
        return toJson(known) === toJson(next) ? null : { name, value: next };
      });
      return { kind: "changed" };
    },
    async load() {
      await rows.reload();
      atStart = stored;
    },
    refresh: () => rows.refresh(),
  };
}

/** A row that an older or newer version wrote, and that does not fit here, sets nothing. */
function decode(row: { readonly name: string; readonly value: Json | null }): [string, unknown][] {
  const name = pageSettingNames.find((candidate) => candidate === row.name);
  if (name === undefined || row.value === null) return [];
  const parsed = parse(name, row.value);
  return parsed.success ? [[name, parsed.data]] : [];
}

function parse(name: PageSettingName, value: unknown) {
  const { schema }: Setting<unknown> = settings[name];
  return schema.safeParse(value);
}

function toJson(value: unknown): string {
  return JSON.stringify(value ?? null);
}
