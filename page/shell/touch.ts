/** Whether the reader types on the screen: a field that takes the focus opens a keyboard over what is shown. */
export const hasScreenKeyboard = (): boolean => matchMedia('(pointer: coarse)').matches
