/** A package.json in this repository. */
export interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly repository: { readonly type: string; readonly url: string };
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface PublishedManifest extends Readonly<Record<string, unknown>> {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

interface Published {
  readonly manifest: SourceManifest;
  readonly workspace: SourceManifest;
  readonly codeFolder: string;
  /** The built files, relative to the package's folder. */
  readonly modules: readonly string[];
  /** The packages that they import. */
  readonly used: ReadonlySet<string>;
}

/**
 * The package.json that is published. It names the built files; the ones in this repository name the sources, and stay
 * private so that nobody publishes them by accident.
 */
export function publishedManifest(published: Published): PublishedManifest {
  const { manifest, workspace } = published;
  requireConsistent(manifest, workspace);
  const { exports, ...rest } = manifest;
  return {
    ...omit(rest, "private", "scripts", "dependencies", "devDependencies"),
    publishConfig: { access: "public" },
    exports: publishedExports(exports, published),
    ...publishedDependencies(published),
    ...testToolPeers(published),
  };
}

function publishedExports(
  exports: Readonly<Record<string, string>>,
  { codeFolder, modules }: Published,
): Record<string, { types: string; default: string }> {
  const entries = Object.entries(exports).flatMap(([name, source]): [string, string][] => {
    const path = source.replace(/^\.\/src\//, "").replace(/\.tsx?$/, "");
    if (!path.includes("*")) return [[name, path]];
    return modules
      .filter((file) => file.endsWith(".js"))
      .map((file) => file.slice(codeFolder.length + 1, -".js".length))
      .map((module) => [name.replace("*", module), path.replace("*", module)]);
  });
  return Object.fromEntries(
    entries.map(([name, path]) => [
      name,
      { types: `./${codeFolder}/${path}.d.ts`, default: `./${codeFolder}/${path}.js` },
    ]),
  );
}

/** The page bundles its dependencies. Our types need the `@types` of packages that come without types. */
function publishedDependencies({ manifest, workspace, used }: Published): Record<string, unknown> {
  if (used.size === 0) return {};
  const types = Object.entries(workspace.devDependencies ?? {}).filter(
    ([name]) => name.startsWith("@types/") && used.has(name.slice("@types/".length)),
  );
  return { dependencies: { ...manifest.dependencies, ...Object.fromEntries(types) } };
}

/** The user's project provides the test tools, in a single version. They are optional: not every module needs them. */
function testToolPeers({ manifest, workspace, used }: Published): Record<string, unknown> {
  const tools = Object.entries(workspace.devDependencies ?? {}).filter(
    ([name]) => used.has(name) && manifest.dependencies?.[name] === undefined,
  );
  if (tools.length === 0) return {};
  return {
    peerDependencies: Object.fromEntries(tools.map(([name, version]) => [name, `^${version}`])),
    peerDependenciesMeta: Object.fromEntries(tools.map(([name]) => [name, { optional: true }])),
  };
}

/** All packages have the same version, licence, repository and required Node. */
function requireConsistent(manifest: SourceManifest, workspace: SourceManifest): void {
  const facts = ({ version, license, repository, engines }: SourceManifest): string =>
    JSON.stringify([version, license, repository.type, repository.url, engines.node]);
  const own = Object.entries(manifest.dependencies ?? {}).filter(([name]) =>
    name.startsWith("@holdfast/"),
  );
  if (facts(manifest) !== facts(workspace))
    throw new Error(`${manifest.name} differs from the workspace: ${facts(manifest)}`);
  for (const [name, version] of own)
    if (version !== workspace.version)
      throw new Error(`${manifest.name} depends on ${name} ${version}, not ${workspace.version}`);
}

function omit(manifest: object, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(manifest).filter(([name]) => !names.includes(name)));
}
