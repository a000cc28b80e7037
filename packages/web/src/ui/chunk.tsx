import { type ComponentType, lazy, type ReactNode, useState } from "react";

interface Chunk<Props extends object> {
  /** Loads it ahead, so that it is there when it is shown. */
  readonly preload: () => void;
  readonly Part: (props: Props) => ReactNode;
}

/** A component in a file of its own. Once it is loaded it renders at once, without a fallback in between. */
export function createChunk<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): Chunk<Props> {
  let loaded: ComponentType<Props> | null = null;
  let loading: Promise<ComponentType<Props>> | null = null;
  async function loadOnce(): Promise<ComponentType<Props>> {
    loading ??= load();
    try {
      loaded = await loading;
      return loaded;
    } catch (error) {
      loading = null;
      throw error;
    }
  }
  const Lazy: ComponentType<Props> = lazy(async () => ({ default: await loadOnce() }));
  return {
    preload: () => void loadOnce().catch(() => undefined),
    Part(props) {
      // The same component for as long as it is mounted: another one would lose its state.
      const [Component] = useState<ComponentType<Props>>(() => loaded ?? Lazy);
      return <Component {...props} />;
    },
  };
}
