/**
 * Owns: when a screen counts as small, for what cannot be left to styles alone: narrow as a phone, or short as one on its
 * side or a page that is zoomed in.
 *
 * Invariants: the styles of components that save room ask the same; it is written out there, for a media query takes no
 * variable.
 */
import { MediaQuery } from 'svelte/reactivity';

export const smallScreen = new MediaQuery('(width < 760px), (height < 600px)');
