/** Whether the transcript follows its end: until the reader scrolls up, and again once they send something. */
export interface EndFollower {
  readonly isFollowing: () => boolean;
  readonly follow: () => void;
  readonly release: () => void;
  /** Scrolls to the newest message and follows from there. */
  readonly showNewest: () => void;
  /** Sets the function that scrolls there, until the returned function is called. */
  readonly onShow: (scrollToEnd: () => void) => () => void;
}

export function createEndFollower(): EndFollower {
  let isFollowing = true;
  let scroll: (() => void) | null = null;
  return {
    isFollowing: () => isFollowing,
    follow: () => void (isFollowing = true),
    release: () => void (isFollowing = false),
    showNewest() {
      isFollowing = true;
      scroll?.();
    },
    onShow(scrollToEnd) {
      scroll = scrollToEnd;
      return () => void (scroll = null);
    },
  };
}
