#include "formats/kin.h"

#include "formats/io.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define BY_BIOFORMATS "convert it to OME-TIFF, as by bfconvert in.%s out.ome.tif (of Bio-Formats) or in Fiji"
#define BY_NIBABEL    "convert it to NIfTI, as in Python by nibabel.save(nibabel.load(\"in.%s\"), \"out.nii\")"
#define BY_ITK                                                                                               \
  "convert it to NIfTI, as in Python by SimpleITK.WriteImage(SimpleITK.ReadImage(\"in.%s\"), \"out.nii\")"
#define BY_ITK_PYTHON                                                                                        \
  "use pznet infer or pznet.infer, which read it through the Python package: pip install 'pznet[medical]'"
#define BY_ZARR                                                                                              \
  "use pznet infer or pznet.infer, which read it through the Python package: pip install 'pznet[zarr]'"
#define TO_STACK                                                                                             \
  "put the slices into one stack, as in Fiji or in Python by tifffile, or give a folder of .tif"
#define GUNZIP "decompress it, as by gunzip; of compressed files .nii.gz alone is read"

static const struct {
  const char *suffix, *kind, *advice; /* %s: the suffix without its point */
} kinds[] = {
    {".tif.gz", "a compressed TIFF", GUNZIP},
    {".npy.gz", "a compressed array", GUNZIP},
    {".hdr.gz", "a compressed NIfTI pair", GUNZIP},
    {".img.gz", "a compressed NIfTI pair", GUNZIP},
    {".gz", "a compressed file", GUNZIP},
    {".zst", "a compressed file", "decompress it, as by zstd -d"},
    {".bz2", "a compressed file", "decompress it, as by bunzip2"},
    {".xz", "a compressed file", "decompress it, as by unxz"},
    {".zip", "an archive", "unpack it; of archives .npz alone is read"},
    {".tar", "an archive", "unpack it"},
    {".zarr", "a Zarr folder", BY_ZARR},
    {".n5", "an N5 folder", BY_ZARR},
    {".precomputed", "a Neuroglancer folder", BY_ZARR},
    {".czi", "a file of Zeiss", BY_BIOFORMATS},
    {".lif", "a file of Leica", BY_BIOFORMATS},
    {".nd2", "a file of Nikon", BY_BIOFORMATS},
    {".oir", "a file of Olympus", BY_BIOFORMATS},
    {".oib", "a file of Olympus", BY_BIOFORMATS},
    {".oif", "a file of Olympus", BY_BIOFORMATS},
    {".vsi", "a file of Olympus", BY_BIOFORMATS},
    {".lsm", "a file of Zeiss LSM", BY_BIOFORMATS},
    {".stk", "a stack of MetaMorph", BY_BIOFORMATS},
    {".svs", "a slide of Aperio", BY_BIOFORMATS},
    {".ndpi", "a slide of Hamamatsu", BY_BIOFORMATS},
    {".scn", "a slide of Leica", BY_BIOFORMATS},
    {".qptiff", "a slide of PerkinElmer", BY_BIOFORMATS},
    {".dv", "a file of DeltaVision", BY_BIOFORMATS},
    {".ics", "a file of ICS", BY_BIOFORMATS},
    {".ids", "a file of ICS", BY_BIOFORMATS},
    {".am", "a file of Amira", BY_BIOFORMATS},
    {".dm3", "a file of Gatan", BY_BIOFORMATS},
    {".dm4", "a file of Gatan", BY_BIOFORMATS},
    {".ims", "a file of Imaris, which is HDF5",
     "give it a name that ends with .h5 and name the dataset: in.h5:/DataSet/ResolutionLevel 0/TimePoint "
     "0/Channel "
     "0/Data; what is beyond the image's size is padding"},
    {".nc", "a file of NetCDF",
     "of version 4, which is HDF5: give it a name that ends with .h5 and name the dataset; of version 3: "
     "convert it by "
     "nccopy -k nc4 in.nc out.h5"},
    {".h5ad", "a file of AnnData, which is HDF5", "give it a name that ends with .h5 and name the dataset"},
    {".mat", "a file of MATLAB",
     "of version 7.3, which is HDF5 with its axes turned: give it a name that ends with .h5, name the "
     "dataset and say "
     "--axes xyz or as it is; of older versions: convert it in Python by numpy.save(\"out.npy\", "
     "scipy.io.loadmat(\"in.mat\")"
     "[\"name\"])"},
    {".mgh", "a volume of FreeSurfer", "convert it by mri_convert in.%s out.nii, or " BY_NIBABEL},
    {".mgz", "a volume of FreeSurfer", "convert it by mri_convert in.%s out.nii, or " BY_NIBABEL},
    {".mnc", "a volume of MINC", BY_NIBABEL},
    {".par", "a volume of Philips", BY_NIBABEL},
    {".head", "a volume of AFNI", "convert it by 3dAFNItoNIFTI in.%s"},
    {".brik", "a volume of AFNI", "convert it by 3dAFNItoNIFTI in.%s"},
    {".nrrd", "a volume of NRRD", BY_ITK_PYTHON},
    {".nhdr", "a volume of NRRD", BY_ITK_PYTHON},
    {".mha", "a volume of MetaImage", BY_ITK_PYTHON},
    {".mhd", "a volume of MetaImage", BY_ITK_PYTHON},
    {".vtk", "a volume of VTK", BY_ITK},
    {".dcm", "a slice of DICOM", "convert the series by dcm2niix FOLDER"},
    {".mrc", "a volume of MRC",
     "convert it by mrc2tif in.%s out.tif, or in Python by numpy.save(\"out.npy\", mrcfile.read(\"in.%s\"))"},
    {".rec", "a volume of MRC",
     "convert it by mrc2tif in.%s out.tif, or in Python by numpy.save(\"out.npy\", mrcfile.read(\"in.%s\"))"},
    {".map", "a volume of MRC",
     "convert it by mrc2tif in.%s out.tif, or in Python by numpy.save(\"out.npy\", mrcfile.read(\"in.%s\"))"},
    {".png", "a picture", TO_STACK},
    {".jpg", "a picture", TO_STACK},
    {".jpeg", "a picture", TO_STACK},
    {".bmp", "a picture", TO_STACK},
    {".gif", "a picture", TO_STACK},
    {".jp2", "a picture", TO_STACK},
    {".webp", "a picture", TO_STACK},
    {".avi", "a film", TO_STACK},
    {".mp4", "a film", TO_STACK},
    {".raw", "numbers without a word on their shape",
     "save it in Python by numpy.save(\"out.npy\", numpy.fromfile(\"in.%s\", dtype).reshape(z, y, x))"},
    {".bin", "numbers without a word on their shape",
     "save it in Python by numpy.save(\"out.npy\", numpy.fromfile(\"in.%s\", dtype).reshape(z, y, x))"},
    {".pt", "a file of PyTorch",
     "save it in Python by numpy.save(\"out.npy\", torch.load(\"in.%s\").numpy())"},
    {".btf", "a BigTIFF", "give it a name that ends with .tif"},
    {".tf8", "a BigTIFF", "give it a name that ends with .tif"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool ends_with(const char *s, size_t n, const char *suffix) {
  const size_t length = strlen(suffix);
  return n > length && strncasecmp(s + n - length, suffix, length) == 0;
}

static int kind_of(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  for (int i = 0; i < KINDS; i++)
    if (ends_with(path, n, kinds[i].suffix)) return i;
  return -1;
}

/* The advice has the suffix in no, one or two places. */
static void advise(int kind, char *text, size_t size) {
  const char *suffix = kinds[kind].suffix + 1;
  size_t n = 0;
  for (const char *at = kinds[kind].advice; *at && n + 1 < size; at++) {
    if (at[0] == '%' && at[1] == 's') {
      n += (size_t)snprintf(text + n, size - n, "%s", suffix);
      at++;
    } else text[n++] = *at;
  }
  text[n < size ? n : size - 1] = 0;
}

static const char shown[] =
#define FORMAT(id, shown) shown
#include "formats/formats.inc"
#undef FORMAT
    "or a folder of .tif slices";

pz_status pz_kin_refuse(const char *path, pz_error *err) {
  const int kind = kind_of(path);
  char advice[400];
  if (kind < 0)
    return pz_fail(err, PZ_ERROR_USAGE, "%s: unknown kind of volume; expected a name that ends with %s", path,
                   shown);
  advise(kind, advice, sizeof advice);
  return pz_fail(err, PZ_ERROR_USAGE, "%s: %s, which is not read; %s", path, kinds[kind].kind, advice);
}

bool pz_kin_is_picture(const char *name) {
  const int kind = kind_of(name);
  static const char *const own[] = {".npy", ".npz", ".h5", ".hdf5", ".nii", ".nii.gz", ".hdr", ".img"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (ends_with(name, strlen(name), own[i])) return true;
  return kind >= 0 && !ends_with(name, strlen(name), ".gz") && !ends_with(name, strlen(name), ".mat") &&
         !ends_with(name, strlen(name), ".zip") && !ends_with(name, strlen(name), ".tar") &&
         !ends_with(name, strlen(name), ".map") && !ends_with(name, strlen(name), ".pt") &&
         !ends_with(name, strlen(name), ".bin");
}

/* ------------------------------------------------------------------ by content */

static const struct {
  int at;
  const char *bytes;
  int n;
  const char *format; /* that reads it; NULL: none */
  const char *kind, *suffix;
} beginnings[] = {
    {0, "\x93NUMPY", 6, "npy", "a NumPy array", ".npy"},
    {0, "PK\3\4", 4, "npz", "a ZIP archive", ".npz if it is one of NumPy"},
    {0, "\x89HDF\r\n\x1a\n", 8, "hdf5", "an HDF5 file", ".h5"},
    {0, "II*\0", 4, "tiff", "a TIFF file", ".tif"},
    {0, "MM\0*", 4, "tiff", "a TIFF file", ".tif"},
    {0, "II+\0", 4, "tiff", "a TIFF file", ".tif"},
    {0, "MM\0+", 4, "tiff", "a TIFF file", ".tif"},
    {344, "n+1", 4, "nifti", "a NIfTI file", ".nii"},
    {344, "ni1", 4, "nifti-pair", "the header of a NIfTI pair", ".hdr"},
    {4, "n+2\0\r\n\032\n", 8, "nifti", "a NIfTI file", ".nii"},
    {0, "\x1f\x8b", 2, "nifti-gz", "a compressed file (gzip)", ".nii.gz if a NIfTI file is in it"},
    {0, "\x89PNG", 4, NULL, "a PNG picture", NULL},
    {0, "\xff\xd8\xff", 3, NULL, "a JPEG picture", NULL},
    {128, "DICM", 4, NULL, "a DICOM slice", NULL},
    {0, "NRRD", 4, NULL, "a NRRD volume", NULL},
    {0, "ZISRAWFILE", 10, NULL, "a file of Zeiss (CZI)", NULL},
    {208, "MAP ", 4, NULL, "an MRC volume", NULL},
    {0, "MATLAB 5.0", 10, NULL, "a file of MATLAB", NULL},
    {0, "CDF\1", 4, NULL, "a file of NetCDF", NULL},
    {0, "ObjectType", 10, NULL, "a header of MetaImage", NULL},
    {0, "<!DOCTYPE", 9, NULL, "a page of HTML; was it downloaded rightly?", NULL},
    {0, "version https://git-lfs", 23, NULL,
     "a note of Git LFS in place of the file; fetch it by git lfs pull", NULL},
};

void pz_kin_explain(const char *path, const char *format, pz_error *err) {
  uint8_t b[512] = {0};
  int fd;
  int64_t size;
  if (!err || err->status != PZ_ERROR_INPUT || pz_io_open(path, &fd, &size, NULL) != PZ_OK) return;
  const bool read = pz_io_read(fd, path, b, size < 512 ? size : 512, 0, NULL) == PZ_OK;
  close(fd);
  for (size_t i = 0; read && i < sizeof beginnings / sizeof *beginnings; i++) {
    if (memcmp(b + beginnings[i].at, beginnings[i].bytes, (size_t)beginnings[i].n) != 0) continue;
    if (beginnings[i].format && strcmp(beginnings[i].format, format) == 0) return;
    *err = (pz_error){0};
    if (beginnings[i].suffix)
      pz_fail(err, PZ_ERROR_INPUT,
              "%s: its content is %s, whatever its name says; give it a name that ends with %s", path,
              beginnings[i].kind, beginnings[i].suffix);
    else
      pz_fail(err, PZ_ERROR_INPUT, "%s: its content is %s, whatever its name says", path, beginnings[i].kind);
    return;
  }
}
