/* The exchanges of the median: ORDER(i, j) puts two values in order, the lesser one at i. tests/test_median.c
 * proves each list. */
#ifndef VF_MEDIAN_ORDERS
#define VF_MEDIAN_ORDERS

/* These sort so many values: the fewest exchanges that are known up to 9, of 25 Batcher's merge exchange
 * (Knuth, The Art of Computer Programming 3, 5.2.2 M). */
#define VF_SORT_3(ORDER) ORDER(0, 2), ORDER(0, 1), ORDER(1, 2)
#define VF_SORT_5(ORDER)                                                                                    \
    ORDER(0, 3), ORDER(1, 4), ORDER(0, 2), ORDER(1, 3), ORDER(0, 1), ORDER(2, 4), ORDER(1, 2), ORDER(3, 4), \
        ORDER(2, 3)
#define VF_SORT_7(ORDER)                                                                                    \
    ORDER(0, 6), ORDER(2, 3), ORDER(4, 5), ORDER(0, 2), ORDER(1, 4), ORDER(3, 6), ORDER(0, 1), ORDER(2, 5), \
        ORDER(3, 4), ORDER(1, 2), ORDER(4, 6), ORDER(2, 3), ORDER(4, 5), ORDER(1, 2), ORDER(3, 4),          \
        ORDER(5, 6)
/* Of three rows of three: the columns first, which rows of another box have too (Floyd, 1964). */
#define VF_SORT_9(ORDER)                                                                                    \
    ORDER(0, 6), ORDER(0, 3), ORDER(3, 6), ORDER(1, 7), ORDER(1, 4), ORDER(4, 7), ORDER(2, 8), ORDER(2, 5), \
        ORDER(5, 8), ORDER(0, 2), ORDER(0, 1), ORDER(1, 2), ORDER(3, 5), ORDER(3, 4), ORDER(4, 5),          \
        ORDER(6, 8), ORDER(6, 7), ORDER(7, 8), ORDER(1, 3), ORDER(5, 7), ORDER(2, 6), ORDER(4, 6),          \
        ORDER(2, 4), ORDER(2, 3), ORDER(5, 6)
#define VF_SORT_25(ORDER)                                                                                    \
    ORDER(0, 16), ORDER(1, 17), ORDER(2, 18), ORDER(3, 19), ORDER(4, 20), ORDER(5, 21), ORDER(6, 22),        \
        ORDER(7, 23), ORDER(8, 24), ORDER(0, 8), ORDER(1, 9), ORDER(2, 10), ORDER(3, 11), ORDER(4, 12),      \
        ORDER(5, 13), ORDER(6, 14), ORDER(7, 15), ORDER(16, 24), ORDER(8, 16), ORDER(9, 17), ORDER(10, 18),  \
        ORDER(11, 19), ORDER(12, 20), ORDER(13, 21), ORDER(14, 22), ORDER(15, 23), ORDER(0, 4), ORDER(1, 5), \
        ORDER(2, 6), ORDER(3, 7), ORDER(8, 12), ORDER(9, 13), ORDER(10, 14), ORDER(11, 15), ORDER(16, 20),   \
        ORDER(17, 21), ORDER(18, 22), ORDER(19, 23), ORDER(4, 16), ORDER(5, 17), ORDER(6, 18), ORDER(7, 19), \
        ORDER(12, 24), ORDER(4, 8), ORDER(5, 9), ORDER(6, 10), ORDER(7, 11), ORDER(12, 16), ORDER(13, 17),   \
        ORDER(14, 18), ORDER(15, 19), ORDER(20, 24), ORDER(0, 2), ORDER(1, 3), ORDER(4, 6), ORDER(5, 7),     \
        ORDER(8, 10), ORDER(9, 11), ORDER(12, 14), ORDER(13, 15), ORDER(16, 18), ORDER(17, 19),              \
        ORDER(20, 22), ORDER(21, 23), ORDER(2, 16), ORDER(3, 17), ORDER(6, 20), ORDER(7, 21), ORDER(10, 24), \
        ORDER(2, 8), ORDER(3, 9), ORDER(6, 12), ORDER(7, 13), ORDER(10, 16), ORDER(11, 17), ORDER(14, 20),   \
        ORDER(15, 21), ORDER(18, 24), ORDER(2, 4), ORDER(3, 5), ORDER(6, 8), ORDER(7, 9), ORDER(10, 12),     \
        ORDER(11, 13), ORDER(14, 16), ORDER(15, 17), ORDER(18, 20), ORDER(19, 21), ORDER(22, 24),            \
        ORDER(0, 1), ORDER(2, 3), ORDER(4, 5), ORDER(6, 7), ORDER(8, 9), ORDER(10, 11), ORDER(12, 13),       \
        ORDER(14, 15), ORDER(16, 17), ORDER(18, 19), ORDER(20, 21), ORDER(22, 23), ORDER(1, 16),             \
        ORDER(3, 18), ORDER(5, 20), ORDER(7, 22), ORDER(9, 24), ORDER(1, 8), ORDER(3, 10), ORDER(5, 12),     \
        ORDER(7, 14), ORDER(9, 16), ORDER(11, 18), ORDER(13, 20), ORDER(15, 22), ORDER(17, 24), ORDER(1, 4), \
        ORDER(3, 6), ORDER(5, 8), ORDER(7, 10), ORDER(9, 12), ORDER(11, 14), ORDER(13, 16), ORDER(15, 18),   \
        ORDER(17, 20), ORDER(19, 22), ORDER(21, 24), ORDER(1, 2), ORDER(3, 4), ORDER(5, 6), ORDER(7, 8),     \
        ORDER(9, 10), ORDER(11, 12), ORDER(13, 14), ORDER(15, 16), ORDER(17, 18), ORDER(19, 20),             \
        ORDER(21, 22), ORDER(23, 24)

/* These bring the median to the middle of a table, its columns one after the other, that is sorted along both
 * axes; a search found them. */
#define VF_MIDDLE_3_3(ORDER) ORDER(2, 4), ORDER(2, 6), ORDER(4, 6)
#define VF_MIDDLE_3_9(ORDER)                                                                            \
    ORDER(8, 14), ORDER(8, 20), ORDER(12, 18), ORDER(6, 18), ORDER(7, 15), ORDER(13, 19), ORDER(7, 19), \
        ORDER(7, 13), ORDER(18, 21), ORDER(13, 18), ORDER(8, 13), ORDER(5, 11), ORDER(11, 13), ORDER(13, 18)
#define VF_MIDDLE_5_5(ORDER)                                                                                 \
    ORDER(8, 11), ORDER(11, 21), ORDER(13, 20), ORDER(3, 16), ORDER(7, 13), ORDER(9, 16), ORDER(9, 13),      \
        ORDER(11, 15), ORDER(4, 12), ORDER(12, 13), ORDER(12, 15), ORDER(4, 9), ORDER(9, 15), ORDER(12, 17), \
        ORDER(9, 12)
#define VF_MIDDLE_7_7(ORDER)                                                                                 \
    ORDER(10, 37), ORDER(19, 31), ORDER(11, 23), ORDER(17, 29), ORDER(26, 29), ORDER(23, 38), ORDER(12, 22), \
        ORDER(25, 43), ORDER(4, 26), ORDER(13, 37), ORDER(32, 35), ORDER(20, 25), ORDER(22, 28),             \
        ORDER(18, 44), ORDER(16, 28), ORDER(18, 30), ORDER(24, 36), ORDER(5, 24), ORDER(13, 19),             \
        ORDER(19, 30), ORDER(20, 28), ORDER(20, 24), ORDER(28, 36), ORDER(6, 18), ORDER(20, 32),             \
        ORDER(6, 32), ORDER(23, 42), ORDER(18, 28), ORDER(28, 42), ORDER(18, 32), ORDER(18, 26),             \
        ORDER(24, 28), ORDER(19, 28), ORDER(24, 26), ORDER(13, 24), ORDER(23, 24), ORDER(23, 32),            \
        ORDER(19, 24), ORDER(24, 26), ORDER(19, 32), ORDER(19, 24), ORDER(24, 32)
#define VF_MIDDLE_5_25(ORDER)                                                                        \
    ORDER(22, 83), ORDER(21, 82), ORDER(41, 102), ORDER(20, 81), ORDER(42, 103), ORDER(43, 104),     \
        ORDER(23, 61), ORDER(62, 101), ORDER(19, 101), ORDER(63, 81), ORDER(63, 102), ORDER(40, 80), \
        ORDER(43, 80), ORDER(44, 105), ORDER(23, 44), ORDER(44, 84), ORDER(44, 63), ORDER(22, 80),   \
        ORDER(42, 82), ORDER(24, 60), ORDER(64, 100), ORDER(22, 100), ORDER(43, 101), ORDER(39, 85), \
        ORDER(24, 45), ORDER(61, 79), ORDER(63, 106), ORDER(63, 65), ORDER(45, 61), ORDER(18, 63),   \
        ORDER(63, 80), ORDER(17, 85), ORDER(59, 63), ORDER(43, 63), ORDER(46, 62), ORDER(63, 86),    \
        ORDER(63, 102), ORDER(60, 63), ORDER(19, 107), ORDER(60, 78), ORDER(42, 78), ORDER(24, 82),  \
        ORDER(21, 78), ORDER(38, 84), ORDER(39, 83), ORDER(78, 100), ORDER(61, 78), ORDER(61, 64),   \
        ORDER(47, 64), ORDER(47, 101), ORDER(39, 107), ORDER(47, 66), ORDER(41, 87), ORDER(45, 47),  \
        ORDER(24, 103), ORDER(38, 47), ORDER(47, 82), ORDER(16, 84), ORDER(47, 77), ORDER(17, 77),   \
        ORDER(65, 77), ORDER(22, 65), ORDER(41, 79), ORDER(58, 65), ORDER(19, 85), ORDER(62, 65),    \
        ORDER(62, 106), ORDER(46, 83), ORDER(62, 103), ORDER(62, 108), ORDER(62, 85), ORDER(37, 62), \
        ORDER(16, 62), ORDER(59, 62), ORDER(19, 62), ORDER(62, 107), ORDER(62, 67), ORDER(62, 80),   \
        ORDER(48, 60), ORDER(20, 62), ORDER(62, 79), ORDER(62, 76), ORDER(66, 76), ORDER(39, 66),    \
        ORDER(58, 104), ORDER(41, 81), ORDER(46, 66), ORDER(63, 66), ORDER(15, 87), ORDER(21, 63),   \
        ORDER(23, 63), ORDER(17, 109), ORDER(63, 83), ORDER(43, 63), ORDER(44, 63), ORDER(57, 103),  \
        ORDER(61, 63), ORDER(57, 60), ORDER(57, 63), ORDER(42, 63), ORDER(24, 63), ORDER(38, 63),    \
        ORDER(15, 63), ORDER(43, 88), ORDER(63, 109), ORDER(63, 68), ORDER(63, 87), ORDER(63, 80),   \
        ORDER(63, 81), ORDER(63, 102), ORDER(22, 63), ORDER(63, 103), ORDER(47, 63), ORDER(49, 56),  \
        ORDER(56, 63), ORDER(56, 106), ORDER(56, 75), ORDER(75, 82), ORDER(64, 75), ORDER(18, 64),   \
        ORDER(64, 101), ORDER(64, 67), ORDER(64, 86), ORDER(21, 104), ORDER(14, 107), ORDER(41, 85), \
        ORDER(49, 64), ORDER(64, 105), ORDER(64, 104), ORDER(60, 64), ORDER(59, 60), ORDER(60, 108), \
        ORDER(36, 60), ORDER(60, 100), ORDER(21, 60), ORDER(15, 110), ORDER(58, 60), ORDER(39, 60),  \
        ORDER(60, 106), ORDER(16, 60), ORDER(60, 79), ORDER(60, 77), ORDER(41, 60), ORDER(60, 84),   \
        ORDER(60, 89), ORDER(43, 60), ORDER(19, 60), ORDER(40, 60), ORDER(14, 60), ORDER(48, 60),    \
        ORDER(60, 65), ORDER(60, 62), ORDER(17, 62), ORDER(24, 62), ORDER(19, 88), ORDER(62, 108),   \
        ORDER(62, 111), ORDER(62, 110), ORDER(62, 101), ORDER(23, 62), ORDER(62, 85), ORDER(45, 62), \
        ORDER(35, 108), ORDER(61, 62), ORDER(62, 103), ORDER(62, 88), ORDER(62, 107), ORDER(38, 62), \
        ORDER(62, 76), ORDER(62, 83), ORDER(37, 83), ORDER(56, 65), ORDER(62, 69), ORDER(21, 62),    \
        ORDER(56, 62), ORDER(62, 78), ORDER(46, 62), ORDER(18, 62), ORDER(49, 62), ORDER(62, 66),    \
        ORDER(62, 86), ORDER(14, 62), ORDER(62, 100), ORDER(47, 76), ORDER(62, 80), ORDER(55, 75),   \
        ORDER(55, 62), ORDER(20, 62), ORDER(24, 62), ORDER(22, 62), ORDER(62, 68), ORDER(54, 64),    \
        ORDER(62, 75), ORDER(62, 64), ORDER(62, 84), ORDER(62, 87), ORDER(62, 67), ORDER(62, 77),    \
        ORDER(62, 102), ORDER(62, 78), ORDER(62, 69), ORDER(13, 35), ORDER(61, 62), ORDER(41, 62),   \
        ORDER(35, 44), ORDER(39, 62), ORDER(44, 57), ORDER(57, 58), ORDER(37, 58), ORDER(42, 58),    \
        ORDER(23, 58), ORDER(47, 58), ORDER(17, 58), ORDER(104, 109), ORDER(79, 104), ORDER(48, 58), \
        ORDER(79, 82), ORDER(16, 58), ORDER(79, 110), ORDER(60, 62), ORDER(15, 58), ORDER(62, 70),   \
        ORDER(58, 62), ORDER(45, 62), ORDER(58, 79), ORDER(62, 79)

#endif
